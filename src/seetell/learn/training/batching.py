"""How samples become batches: one caption an image or all of them, length buckets, and preparing batches ahead.

Captions are kept as `Sequences`: one flat array of word numbers and where each caption begins, so that 200,000 of
them cost a few megabytes and a batch is padded only to its own longest.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

Item = TypeVar("Item")
Batch = TypeVar("Batch")


class Sequences:
    """Many sequences of integers, stored end to end."""

    def __init__(self, sequences: Iterable[Sequence[int]]) -> None:
        listed = [np.asarray(s, dtype=np.int32) for s in sequences]
        self.lengths = np.array([len(s) for s in listed], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])[:-1].astype(np.int64)
        self.values = np.concatenate(listed) if listed else np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> np.ndarray:
        start = self.starts[index]
        return self.values[start : start + self.lengths[index]]

    def pad(self, indices: np.ndarray, fill: int = 0) -> tuple[Tensor, Tensor]:
        """The chosen sequences as one matrix, padded to the longest of them, and their lengths."""
        lengths = self.lengths[indices]
        columns = np.arange(lengths.max(initial=0))
        inside = columns < lengths[:, None]
        positions = np.where(inside, self.starts[indices][:, None] + columns, 0)
        matrix = np.where(inside, self.values[positions], fill)
        return torch.from_numpy(matrix.astype(np.int64)), torch.from_numpy(lengths)


def chunks(order: np.ndarray, size: int) -> list[np.ndarray]:
    """Cut into batches of `size`; a single sample left over joins the last batch (it has nothing to contrast)."""
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [np.concatenate(parts[-2:])]
    return parts


def one_caption(owners: np.ndarray, size: int, random: np.random.Generator) -> list[np.ndarray]:
    """Batches of caption indices with each image once per epoch, with one of its captions at random.

    Args:
        owners: the image of each caption.
    """
    shuffled = random.permutation(len(owners))
    _, first = np.unique(owners[shuffled], return_index=True)  # the first of each image in a random order
    return chunks(random.permutation(shuffled[first]), size)


def all_captions(owners: np.ndarray, size: int, random: np.random.Generator) -> list[np.ndarray]:
    """Batches with every caption once per epoch."""
    return chunks(random.permutation(len(owners)), size)


def together(owners: np.ndarray, size: int, random: np.random.Generator) -> list[np.ndarray]:
    """Batches of about `size` captions with every caption once per epoch, all captions of an image in one batch: the
    image side then computes each image once per epoch."""
    images = random.permutation(np.unique(owners))
    each = max(2, round(size * len(images) / max(1, len(owners))))
    return [np.flatnonzero(np.isin(owners, some)) for some in chunks(images, each)]


def length_buckets(lengths: np.ndarray, size: int, random: np.random.Generator) -> list[np.ndarray]:
    """Batches of samples of one length (Xu, section 4.3): no step is spent on padding.

    What is left over of each length is gathered, in order of length, into batches of nearly one length, so that every
    sample is used and no batch is tiny.
    """
    batches: list[np.ndarray] = []
    rest: list[np.ndarray] = []
    for length in np.unique(lengths):
        members = random.permutation(np.flatnonzero(lengths == length))
        whole = len(members) // size * size
        batches += chunks(members[:whole], size) if whole else []
        rest.append(members[whole:])
    batches += chunks(np.concatenate(rest), size) if rest else []
    return [batches[i] for i in random.permutation(len(batches)) if len(batches[i])]


def prefetch(items: Iterable[Item], make: Callable[[Item], Batch], depth: int = 3) -> Iterator[tuple[Item, Batch]]:
    """Make batches in a thread, `depth` ahead of the consumer; an error there is raised here."""
    ready: queue.Queue[tuple[Item, Batch] | BaseException | None] = queue.Queue(depth)
    closed = threading.Event()

    def put(entry: tuple[Item, Batch] | BaseException | None) -> None:
        while not closed.is_set():
            try:
                ready.put(entry, timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                if closed.is_set():
                    return
                put((item, make(item)))
            put(None)
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=work, name="batches", daemon=True)
    thread.start()
    try:
        while (entry := ready.get()) is not None:
            if isinstance(entry, BaseException):
                raise entry
            yield entry
    finally:
        closed.set()
        thread.join()
