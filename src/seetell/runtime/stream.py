"""Many pictures through a pool of threads, in order, a few batches ahead and no more.

Each thread takes a batch all the way: decoding, preparing, encoding, telling. So decoding one batch overlaps with
inference on another, every core is busy with one thread, and memory does not depend on how many pictures there are.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Executor, Future
from itertools import islice
from typing import TypeVar

import numpy as np
from PIL import Image

from seetell.data import Picture
from seetell.images import Source
from seetell.progress import SILENT, Progress

AnyPicture = Source | Picture
Pictures = AnyPicture | Iterable[AnyPicture]
Named = tuple[str, AnyPicture]
Outcome = TypeVar("Outcome")


def as_several(pictures: Pictures) -> Iterable[AnyPicture] | None:
    """Pictures that come one after another; None for one that is alone (text and arrays could be gone through, too)."""
    if isinstance(pictures, str | bytes | os.PathLike | Image.Image | np.ndarray):
        return None
    return pictures if isinstance(pictures, Iterable) else None


def named(picture: object, place: int | None = None) -> Named:
    """A picture and what to call it: its path or name, or else its place."""
    if isinstance(picture, str | os.PathLike):
        return os.fspath(picture), picture
    number = "picture" if place is None else f"picture {place + 1}"
    if isinstance(picture, bytes | np.ndarray):
        return number, picture
    if isinstance(picture, Image.Image):
        return str(getattr(picture, "filename", "")) or number, picture
    if hasattr(picture, "read") and hasattr(picture, "name"):
        named_picture: Picture = picture
        return str(picture.name), named_picture
    raise TypeError(f"a picture is a path, bytes, a Pillow picture or an array, not {type(picture).__name__}")


def stream(
    pool: Executor,
    pictures: Iterable[AnyPicture],
    work: Callable[[Sequence[Named]], Sequence[Outcome]],
    *,
    batch: int,
    threads: int,
    task: str,
    progress: Progress = SILENT,
) -> Iterator[Outcome]:
    """The outcome of each picture, in order.

    Args:
        work: what a thread does with a batch: one outcome for each of its pictures.
        batch: how many pictures at a time; fewer where there are too few to keep all threads busy.
        task: what the progress is called.
    """
    total = len(pictures) if isinstance(pictures, Sized) else None
    if total is not None:
        batch = max(1, min(batch, -(-total // threads)))
    source = (named(picture, place) for place, picture in enumerate(pictures))
    ahead: deque[Future[Sequence[Outcome]]] = deque()
    failed = 0
    with progress.task(task, total=total, unit="pictures") as doing:
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
