"""Near-duplicates: images that were resized, recompressed or slightly retouched.

Two images are near-duplicates if their difference hashes differ in at most `MAX_BITS` of 64 bits and their embeddings,
where the library has them, have a cosine similarity of at least `MIN_COSINE`. Hashes that differ in fewer bits than
they have bytes agree in at least one byte, so only images that share a byte are compared.
"""

import sqlite3
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from seetell.library.records import LibraryImage
from seetell.library.search.vectors import load, normalised
from seetell.library.storage import rows

MAX_BITS = 7  # fewer than the eight bytes of a hash
MIN_COSINE = 0.9
_BLOCK = 65_536  # pairs that are compared at once: flat images may all have the same hash
_BIT_COUNTS = np.array([each.bit_count() for each in range(256)], np.uint8)


def near_duplicates(connection: sqlite3.Connection, bits: int = MAX_BITS) -> list[list[int]]:
    """Groups of two or more image ids, the largest image of each group first."""
    found = connection.execute("SELECT id, dhash, width * height FROM images ORDER BY id").fetchall()
    if not found:
        return []
    ids = [row[0] for row in found]
    hashes = np.array([row[1] for row in found], ">i8").view(np.uint8).reshape(len(found), 8)
    parent = {image: image for image in ids}

    def root(image: int) -> int:
        while parent[image] != image:
            parent[image] = image = parent[parent[image]]
        return image

    vectors: dict[int, NDArray[np.float32] | None] = {}
    pairs = ((ids[left], ids[right]) for left, right in _pairs(hashes, bits))
    while block := list(islice(pairs, _BLOCK)):
        _load_vectors(connection, {image for pair in block for image in pair}, vectors)
        for a, b in block:
            one, other = vectors[a], vectors[b]
            if one is None or other is None or float(one @ other) >= MIN_COSINE:
                parent[root(a)] = root(b)
    groups: dict[int, list[int]] = {}
    for image in parent:
        groups.setdefault(root(image), []).append(image)
    pixels = {row[0]: row[2] for row in found}
    return [sorted(group, key=lambda each: (-pixels[each], each)) for group in groups.values() if len(group) > 1]


def duplicates(connection: sqlite3.Connection, bits: int = MAX_BITS) -> list[tuple[LibraryImage, ...]]:
    """Groups of near-duplicates; a group of one is an image with several files."""
    groups = near_duplicates(connection, bits)
    grouped = {image for group in groups for image in group}
    several = connection.execute(
        "SELECT image FROM files WHERE image IS NOT NULL GROUP BY image HAVING count(*) > 1 ORDER BY image"
    )
    groups += [[image] for (image,) in several.fetchall() if image not in grouped]
    return [tuple(rows.images(connection, group)) for group in sorted(groups)]


def _load_vectors(
    connection: sqlite3.Connection, ids: set[int], vectors: dict[int, NDArray[np.float32] | None]
) -> None:
    """Add the normalised embeddings of images to `vectors`; None for an image without one."""
    model = rows.current_model(connection)
    missing = [image for image in ids if image not in vectors]
    vectors.update(dict.fromkeys(missing))
    if missing and model is not None and model.similarity is not None:
        loaded, found = load(connection, model.id, ids=missing)
        vectors.update(zip(loaded.tolist(), normalised(found), strict=True))


def _pairs(hashes: NDArray[np.uint8], bits: int) -> Iterator[tuple[int, int]]:
    """Every pair of rows that differs in at most `bits` bits, once."""
    for byte in range(8):
        order = np.argsort(hashes[:, byte], kind="stable")
        bounds = np.flatnonzero(np.diff(hashes[order, byte])) + 1
        for bucket in np.split(order, bounds):
            for index in range(len(bucket) - 1):
                one, others = bucket[index], bucket[index + 1 :]
                distance = _BIT_COUNTS[hashes[others] ^ hashes[one]].sum(1)
                for other in others[distance <= bits].tolist():
                    # A pair that agrees in several bytes is met in several buckets: the first counts.
                    if not (hashes[one, :byte] == hashes[other, :byte]).any():
                        yield int(one), other
