"""The messages that the stages of indexing pass on. All of them are immutable."""

from dataclasses import dataclass

from seetell.library.storage.rows import ImageFacts
from seetell.runtime import Description


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A file whose content has to be described.

    Args:
        path: of the file.
        size: in bytes, when it was hashed.
        mtime: its modification time in nanoseconds, when it was hashed.
        hash: of its content.
    """

    path: str
    size: int
    mtime: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file whose content is in the library already: moved, copied, or back again."""

    file: PendingFile
    image: int


@dataclass(frozen=True, slots=True)
class SameContent:
    """A file with the same content as another `PendingFile` of this run."""

    file: PendingFile


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that cannot be read; size and modification time are those of the attempt."""

    path: str
    size: int
    mtime: int
    reason: str


@dataclass(frozen=True, slots=True)
class VanishedFile:
    """A file that was deleted after it was listed."""

    path: str


@dataclass(frozen=True, slots=True)
class Described:
    """A file that went through the model.

    Args:
        file: as it was hashed.
        facts: None if it could not be read.
        description: the model's results, or the error.
    """

    file: PendingFile
    facts: ImageFacts | None
    description: Description

    @property
    def reason(self) -> str | None:
        """Why it could not be read, or None."""
        if self.description.error is not None:
            return self.description.error.problem
        return None if self.facts is not None else "it cannot be read"


Message = PendingFile | KnownFile | SameContent | UnreadableFile | VanishedFile
Outcome = KnownFile | SameContent | UnreadableFile | VanishedFile | Described
