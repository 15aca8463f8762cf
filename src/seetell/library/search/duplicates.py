"""Images that are nearly the same: resized, compressed again, touched up.

Two images are alike if their difference hashes differ in at most `BITS` of 64 places and their embeddings, where the
library has them, point the same way. Hashes that differ in so few places agree in at least one of eight bytes, so only
those are compared.
"""

import sqlite3
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seetell.library.records import LibraryImage
from seetell.library.search.vectors import Compared, load
from seetell.library.storage import store
from seetell.similarity import COSINE

BITS = 7  # fewer than the eight bytes of a hash
LIKENESS = 0.9
_ONES = np.array([bin(each).count("1") for each in range(256)], np.uint8)


def near_duplicates(connection: sqlite3.Connection, bits: int = BITS) -> list[list[int]]:
    """Groups of images' numbers, each with two or more, the largest image first."""
    rows = connection.execute("SELECT id, look, width * height FROM images ORDER BY id").fetchall()
    if not rows:
        return []
    numbers = np.array([row[0] for row in rows], np.int64)
    looks = np.array([row[1] for row in rows], ">i8").view(np.uint8).reshape(len(rows), 8)
    bundle = store.bundle_row(connection)
    space = None
    if bundle is not None and bundle.similarity is not None:
        space = Compared(COSINE, *load(connection, bundle.id, ids=[*_in_pairs(looks, numbers, bits)]))
    places = {number: place for place, number in enumerate(space.ids.tolist())} if space is not None else {}
    parent = {number: number for number in numbers.tolist()}

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = number = parent[parent[number]]
        return number

    for left, right in _pairs(looks, bits):
        a, b = int(numbers[left]), int(numbers[right])
        if not (space is not None and a in places and b in places) or (
            float(space.vectors[places[a]] @ space.vectors[places[b]]) >= LIKENESS
        ):
            parent[root(a)] = root(b)
    groups: dict[int, list[int]] = {}
    for number in parent:
        groups.setdefault(root(number), []).append(number)
    size = {row[0]: row[2] for row in rows}
    return [sorted(group, key=lambda each: (-size[each], each)) for group in groups.values() if len(group) > 1]


def duplicates(connection: sqlite3.Connection, bits: int = BITS) -> list[tuple[LibraryImage, ...]]:
    """Groups of images that are alike; an image alone, if it has several files."""
    groups = near_duplicates(connection, bits)
    inside = {number for group in groups for number in group}
    several = connection.execute(
        "SELECT image FROM files WHERE image IS NOT NULL GROUP BY image HAVING count(*) > 1 ORDER BY image"
    )
    groups += [[number] for (number,) in several.fetchall() if number not in inside]
    return [tuple(store.images(connection, group)) for group in sorted(groups)]


def _pairs(looks: NDArray[np.uint8], bits: int) -> Iterator[tuple[int, int]]:
    for byte in range(8):
        order = np.argsort(looks[:, byte], kind="stable")
        bounds = np.flatnonzero(np.diff(looks[order, byte])) + 1
        for bucket in np.split(order, bounds):
            for place in range(len(bucket) - 1):
                one, others = bucket[place], bucket[place + 1 :]
                far = _ONES[looks[others] ^ looks[one]].sum(1)
                for other in others[far <= bits].tolist():
                    # A pair that agrees in several bytes is met once: in the first of them.
                    if not (looks[one, :byte] == looks[other, :byte]).any():
                        yield int(one), other


def _in_pairs(looks: NDArray[np.uint8], numbers: NDArray[np.int64], bits: int) -> set[int]:
    return {int(numbers[place]) for pair in _pairs(looks, bits) for place in pair}
