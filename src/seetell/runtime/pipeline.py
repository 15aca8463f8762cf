"""Images through the encoder and a head, in a pool of threads, in order, a few batches ahead and no more.

Each thread takes a batch all the way: decoding, preparing, encoding, and the head. So decoding one batch overlaps with
inference on another, every core is busy with one thread, and memory does not depend on the number of images.
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Sized
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from itertools import islice
from typing import Protocol, TypeVar

from seetell.bundle import Bundle
from seetell.errors import ClosedError, ImageError
from seetell.progress import SILENT, Progress
from seetell.runtime.encoder import Features, ImageEncoder
from seetell.runtime.inputs import ImageLike, ImagesLike, NamedImage, name_image, several_images
from seetell.util import usable_cores

Outcome = TypeVar("Outcome", covariant=True)

BATCH = 16
AHEAD = 2  # batches that wait while every thread is busy


class PipelineHead(Protocol[Outcome]):
    """Turns the features of a batch into one result per image; called from several threads."""

    @property
    def task(self) -> str:
        """What progress calls the work."""
        ...

    def results(self, names: Sequence[str], features: Features) -> Sequence[Outcome]:
        """The results of readable images, in order."""
        ...

    def failed(self, name: str, error: ImageError) -> Outcome:
        """The result of an image that cannot be read."""
        ...


class Pipeline:
    """The encoder of a bundle, and the threads that all its heads share.

    However many callers there are, at most `threads` batches are processed at once.

    Args:
        bundle: a verified bundle.
        threads: how many batches are processed at once; by default one per usable core.

    Example:
        >>> from seetell.bundle import Bundle, find_bundle
        >>> class MeanColour:
        ...     task = "Averaging"
        ...     def results(self, names, features):
        ...         return list(zip(names, features["pooled"].round(1).tolist()))
        ...     def failed(self, name, error):
        ...         return name, None
        >>> pipeline = Pipeline(Bundle.open(find_bundle()))
        >>> list(pipeline.map(["red.png", "absent.png"], MeanColour()))
        [('red.png', [1.0, 0.0, 0.0]), ('absent.png', None)]
        >>> pipeline.close()
    """

    def __init__(self, bundle: Bundle, threads: int | None = None) -> None:
        self.bundle = bundle
        self.threads = threads or usable_cores()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="seetell")
        self._lock = threading.Lock()
        self._encoder: ImageEncoder | None = None
        self._closed = False

    @property
    def encoder(self) -> ImageEncoder:
        """The encoder, loaded when it is first needed."""
        with self._lock:
            if self._encoder is None:
                self._encoder = ImageEncoder(self.bundle)
            return self._encoder

    def map(
        self, images: ImagesLike, head: PipelineHead[Outcome], progress: Progress = SILENT
    ) -> Outcome | Iterator[Outcome]:
        """Encode images and run a head on them.

        Args:
            images: one image, or an iterable, which is read only a few batches ahead.
            head: turns features into results.
            progress: reports how many images are done and how many could not be read.

        Returns:
            The result of a single image, or an iterator over the results in the order of the images.
        """
        self.check_open()
        several = several_images(images)
        if several is None:
            return self._outcomes(self._submit([name_image(images)], head))[0]
        return self._stream(several, head, progress)

    def check_open(self) -> None:
        """Raise a `ClosedError` if the pipeline has been closed."""
        if self._closed:
            raise ClosedError(
                "this model is closed", where=str(self.bundle.path), remedy="Open it again with seetell.open_model"
            )

    def close(self) -> None:
        """Stop the threads; waiting batches are dropped."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _stream(
        self, images: Iterable[ImageLike], head: PipelineHead[Outcome], progress: Progress
    ) -> Iterator[Outcome]:
        total = len(images) if isinstance(images, Sized) else None
        # Few images are dealt out evenly, so that every thread has some.
        batch = BATCH if total is None else max(1, min(BATCH, -(-total // self.threads)))
        source = (name_image(image, index) for index, image in enumerate(images))
        waiting: deque[Future[list[Outcome]]] = deque()
        unreadable = 0
        with progress.task(head.task, total=total, unit="images") as task:
            try:
                while True:
                    while len(waiting) < self.threads + AHEAD and (some := list(islice(source, batch))):
                        waiting.append(self._submit(some, head))
                    if not waiting:
                        return
                    for outcome in self._outcomes(waiting.popleft()):
                        unreadable += getattr(outcome, "error", None) is not None
                        task.advance(note=f"{unreadable} unreadable" if unreadable else None)
                        yield outcome
            finally:
                for future in waiting:
                    future.cancel()

    def _submit(self, images: Sequence[NamedImage], head: PipelineHead[Outcome]) -> "Future[list[Outcome]]":
        try:
            return self._pool.submit(self._process, images, head)
        except RuntimeError:  # the pool has been shut down
            self.check_open()
            raise

    def _outcomes(self, future: "Future[list[Outcome]]") -> list[Outcome]:
        try:
            return future.result()
        except CancelledError:
            self.check_open()
            raise

    def _process(self, images: Sequence[NamedImage], head: PipelineHead[Outcome]) -> list[Outcome]:
        """Take a batch all the way, in one thread."""
        encoded = self.encoder.encode(images)
        outcomes = {index: head.failed(images[index][0], error) for index, error in encoded.errors.items()}
        if encoded.indices:
            names = [images[index][0] for index in encoded.indices]
            outcomes.update(zip(encoded.indices, head.results(names, encoded.features), strict=True))
        return [outcomes[index] for index in range(len(images))]
