"""What one server shares between requests: the library, work queues, caches and the indexer."""

import asyncio
import contextlib

from seetell.errors import SeetellError
from seetell.library import Library, LibraryImage, Report
from seetell.runtime import Embedding
from seetell.util import LruCache
from seetell.web.captions import caption_with_attention
from seetell.web.indexer import BackgroundIndexer
from seetell.web.presentation import ImagePresenter
from seetell.web.schemas import CaptionResponse, UploadResponse
from seetell.web.security import Access
from seetell.web.thumbnails import Thumbnails, read_original
from seetell.web.uploads import UploadedImages
from seetell.web.work_queue import WorkQueue

UPLOADS_IN_MEMORY = 8
CACHED_CAPTIONS = 512


class Site:
    """A library being served.

    Args:
        library: stays open until the caller closes it.
        access: who may send requests.
        threads: number of images the models process at once.
    """

    def __init__(self, library: Library, access: Access, *, threads: int = 2) -> None:
        self.library, self.access = library, access
        self.queries = WorkQueue("queries", 4, 2_000)
        self.edits = WorkQueue("edits", 1, 500)  # one at a time in any case; apart, so that no search waits for them
        self.files = WorkQueue("files", 2, 2_000)
        self.inference = WorkQueue("inference", threads, 256)
        self.thumbnails = Thumbnails(library.path)
        self.uploads = UploadedImages()
        self.upload_slots = asyncio.Semaphore(UPLOADS_IN_MEMORY)
        self.indexer = BackgroundIndexer(library, self._after_update, full_paths=access.loopback)
        self._captions: LruCache[tuple[str, str], CaptionResponse] = LruCache(CACHED_CAPTIONS)

    def presenter(self) -> ImagePresenter:
        """Images as this server's clients may see them: full paths only on this computer."""
        full = self.access.loopback
        return ImagePresenter(() if full else self.library.info().folders, full_paths=full)

    def caption(self, image: LibraryImage) -> CaptionResponse:
        """Generate the model's caption of an image with its attention; the most recent ones are cached."""
        with self.library.use_model() as model:
            key = (model.bundle.fingerprint, image.hash)
            caption = self._captions.get(key)
            if caption is None:
                result = model.captioner(read_original(image))
                caption = caption_with_attention(result.best, model, (image.width, image.height))
                self._captions.put(key, caption)
            return caption

    def describe_upload(self, data: bytes) -> UploadResponse:
        """Caption and tag an uploaded image, and keep its embedding to search by."""
        with self.library.use_model() as model:
            return self.uploads.add(data, model)

    def upload_embedding(self, upload_id: str) -> Embedding | None:
        """The embedding of an upload, if it is still kept and comes from the library's current model."""
        with self.library.use_model() as model:
            return self.uploads.embedding(upload_id, model.bundle.fingerprint)

    def warm_up(self) -> None:
        """Open the model before the first request needs it."""
        with contextlib.suppress(SeetellError):  # the request that needs it reports the error
            if "retriever" in self.library.info().kinds:
                with self.library.use_model() as model:
                    model.retriever.embed_texts(["an image"])

    def close(self) -> None:
        """Stop indexing and end all threads."""
        self.indexer.close()
        self.indexer.join()
        for queue in (self.queries, self.edits, self.files, self.inference):
            queue.close()

    def _after_update(self, report: Report) -> None:
        if report.removed:
            self.thumbnails.prune(self.library.content_hashes())
