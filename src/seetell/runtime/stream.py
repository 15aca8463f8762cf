"""Many images through a pool of threads, in order, a few batches ahead and no more.

Each thread takes a batch all the way: decoding, preparing, encoding, telling. So decoding one batch overlaps with
inference on another, every core is busy with one thread, and memory does not depend on how many images there are.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Executor, Future
from itertools import islice
from typing import TypeVar

import numpy as np
from PIL import Image

from seetell.data import ImageSource
from seetell.images import Source
from seetell.progress import SILENT, Progress

ImageLike = Source | ImageSource
ImagesLike = ImageLike | Iterable[ImageLike]
Named = tuple[str, ImageLike]
Outcome = TypeVar("Outcome")


def as_several(images: ImagesLike) -> Iterable[ImageLike] | None:
    """ImagesLike that come one after another; None for one that is alone (text and arrays could be gone through, too)."""
    if isinstance(images, str | bytes | os.PathLike | Image.Image | np.ndarray):
        return None
    return images if isinstance(images, Iterable) else None


def named(image: object, place: int | None = None) -> Named:
    """An image and what to call it: its path or name, or else its place."""
    if isinstance(image, str | os.PathLike):
        return os.fspath(image), image
    number = "image" if place is None else f"image {place + 1}"
    if isinstance(image, bytes | np.ndarray):
        return number, image
    if isinstance(image, Image.Image):
        return str(getattr(image, "filename", "")) or number, image
    if hasattr(image, "read") and hasattr(image, "name"):
        named_image: ImageSource = image
        return str(image.name), named_image
    raise TypeError(f"an image is a path, bytes, a Pillow image or an array, not {type(image).__name__}")


def stream(
    pool: Executor,
    images: Iterable[ImageLike],
    work: Callable[[Sequence[Named]], Sequence[Outcome]],
    *,
    batch: int,
    threads: int,
    task: str,
    progress: Progress = SILENT,
) -> Iterator[Outcome]:
    """The outcome of each image, in order.

    Args:
        work: what a thread does with a batch: one outcome for each of its images.
        batch: how many images at a time; fewer where there are too few to keep all threads busy.
        task: what the progress is called.
    """
    total = len(images) if isinstance(images, Sized) else None
    if total is not None:
        batch = max(1, min(batch, -(-total // threads)))
    source = (named(image, place) for place, image in enumerate(images))
    ahead: deque[Future[Sequence[Outcome]]] = deque()
    failed = 0
    with progress.task(task, total=total, unit="images") as doing:
        try:
            while True:
                while len(ahead) < threads + 2 and (some := list(islice(source, batch))):
                    ahead.append(pool.submit(work, some))
                if not ahead:
                    return
                for outcome in ahead.popleft().result():
                    failed += getattr(outcome, "error", None) is not None
                    doing.advance(note=f"{failed} unreadable" if failed else None)
                    yield outcome
        finally:
            for future in ahead:
                future.cancel()
