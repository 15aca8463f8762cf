"""What all heads of a bundle share: the encoder, and the threads that work."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from seetell.bundle import Bundle
from seetell.progress import Progress
from seetell.runtime.encoder import ImageEncoder
from seetell.runtime.graph import usable_cores
from seetell.runtime.stream import ImagesLike, Named, as_several, named, stream

Outcome = TypeVar("Outcome")

BATCH = 16


class Runner:
    """However many callers there are, no more than `threads` batches are worked on at once."""

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        self.bundle = bundle
        self.threads = threads or usable_cores()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="seetell")
        self._lock = threading.Lock()
        self._eye: ImageEncoder | None = None

    @property
    def encoder(self) -> ImageEncoder:
        """The encoder, loaded when it is first needed."""
        with self._lock:
            if self._eye is None:
                self._eye = ImageEncoder(self.bundle)
            return self._eye

    def run(
        self, images: ImagesLike, work: Callable[[Sequence[Named]], Sequence[Outcome]], task: str, progress: Progress
    ) -> Any:
        """The outcome of one image, or a stream of the outcomes of several."""
        several = as_several(images)
        if several is None:
            return self._pool.submit(work, [named(images)]).result()[0]
        return stream(self._pool, several, work, batch=BATCH, threads=self.threads, task=task, progress=progress)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
