"""What the page's answers are made of: the library, the desks where work is done, and what is remembered."""

import contextlib
import threading
from collections import OrderedDict

from seetell.errors import SeetellError
from seetell.library import Library, LibraryImage, Report
from seetell.runtime import CaptionResult
from seetell.web.answers import Describes
from seetell.web.captions import Told, told
from seetell.web.indexer import Indexer
from seetell.web.security import Access
from seetell.web.thumbnails import Thumbnails, content
from seetell.web.uploads import UploadedImages
from seetell.web.work_queue import WorkQueue

UPLOADS = 8  # bodies in memory at once
KEPT = 512  # captions with attention


class Site:
    """A library that is served.

    Args:
        threads: how many images are told at once.
    """

    def __init__(self, library: Library, access: Access, *, threads: int = 2) -> None:
        self.library, self.access = library, access
        self.quick = WorkQueue("quick", 4, 2_000)  # a search, a row of the database
        self.writing = WorkQueue("writing", 1, 500)  # edits: one at a time anyway, and none keeps a search waiting
        self.copying = WorkQueue("copying", 2, 2_000)  # thumbnails
        self.telling = WorkQueue("telling", threads, 256)  # the networks
        self.thumbnails = Thumbnails(library.path)
        self.looks = UploadedImages()
        self.indexer = Indexer(library, self._after, whole_paths=access.loopback)
        self._told, self._lock = OrderedDict[tuple[str, str], Told](), threading.Lock()

    def describes(self) -> Describes:
        whole = self.access.loopback
        return Describes(() if whole else self.library.info().folders, whole_paths=whole)

    def told(self, image: LibraryImage) -> Told:
        """The model's caption with its attention; computed once, and remembered for a while."""
        model = self.library.model
        key = (model.bundle.fingerprint, image.hash)
        with self._lock:
            if key in self._told:
                self._told.move_to_end(key)
                return self._told[key]
        said: CaptionResult = model.captioner(content(image))
        made = told(said.best, model, (image.width, image.height))
        with self._lock:
            self._told[key] = made
            while len(self._told) > KEPT:
                self._told.popitem(last=False)
        return made

    def warm(self) -> None:
        """Open the bundle before somebody waits for it."""
        with contextlib.suppress(SeetellError):  # whoever needs it is told
            if self.library.info().fingerprint and "retriever" in self.library.model.kinds:
                self.library.model.retriever.embed_texts(["an image"])

    def close(self) -> None:
        """Let the threads go; the library is the caller's to close."""
        self.indexer.close()
        self.indexer.join()
        for work_queue in (self.quick, self.writing, self.copying, self.telling):
            work_queue.close()

    def _after(self, report: Report) -> None:
        if report.forgotten:
            self.thumbnails.prune(self.library.hashes())
