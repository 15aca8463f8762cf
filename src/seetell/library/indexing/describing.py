"""The describing stage in this process: new files through the model's threads."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from seetell.library.indexing.messages import Described, PendingFile
from seetell.library.indexing.reading import read_image
from seetell.library.storage.rows import ImageFacts
from seetell.runtime import Model


@dataclass(frozen=True, slots=True)
class _Read:
    """A file that a thread of the model has read; `facts` are None if it could not be."""

    file: PendingFile
    facts: ImageFacts | None


@dataclass(frozen=True, slots=True)
class _Image:
    """A file as `Model.describe` takes it: it is read by the thread that encodes it.

    Decoding once serves both the model and the facts, which are sent to whoever collects them.
    """

    file: PendingFile
    at_least: int
    send: Callable[[_Read], object]

    @property
    def name(self) -> str:
        return self.file.path

    def read(self) -> Any:
        facts = None
        try:
            pixels, facts = read_image(self.file, self.at_least)
            return pixels
        finally:
            self.send(_Read(self.file, facts))


def describe_files(model: Model, files: Iterator[PendingFile]) -> Iterator[Described]:
    """Describe files with a model that is open in this process, in order."""
    mailbox: SimpleQueue[_Read] = SimpleQueue()
    read: dict[str, _Read] = {}
    images = (_Image(file, model.preparation.resize, mailbox.put) for file in files)
    for description in model.describe(images):
        # A file is described after it was read, so its message has arrived.
        while description.name not in read:
            message = mailbox.get_nowait()
            read[message.file.path] = message
        message = read.pop(description.name)
        yield Described(message.file, message.facts, description)
