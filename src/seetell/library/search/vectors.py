"""The images' embeddings, compared with a question's: all of them while they are few, those near it when many.

Both ways give the same scores: what the index proposes is compared once more with the vectors in the database. Images
that came since the index was made are compared one by one, images that went are dropped.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seetell.similarity import COSINE, Similarity

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

SAMPLE = 2_000  # images whose scores stand for those of all
MOST_PROPOSED = 4_096


class Space(Protocol):
    """A set of embeddings that can be asked. `images` says that the question is an image's embedding."""

    exact: bool

    @property
    def count(self) -> int: ...

    def nearest(self, question: Floats, k: int, *, images: bool = False) -> tuple[Ids, Floats]:
        """The k most alike, best first, and their scores."""
        ...

    def scores(self, question: Floats, ids: Sequence[int], *, images: bool = False) -> Floats:
        """The scores of some; NaN for those that have no embedding."""
        ...

    def spread(self, question: Floats, *, images: bool = False) -> tuple[float, float]:
        """Mean and standard deviation of the scores of all."""
        ...


class Compared:
    """Vectors in memory, compared one by one.

    For cosine similarity they are kept at length 1, so that a score is a product.
    """

    exact = True

    def __init__(self, similarity: Similarity, ids: Ids, vectors: Floats) -> None:
        self.similarity, self.ids = similarity, ids
        self._cosine = similarity.name == "cosine"
        self.vectors = of_length_one(vectors) if self._cosine else vectors
        self._places: dict[int, int] | None = None
        self._last: tuple[Floats, bool, Floats] | None = None  # the last question and the scores of all

    @property
    def count(self) -> int:
        return len(self.ids)

    def joined(self, ids: Ids, vectors: Floats) -> "Compared":
        more = Compared(self.similarity, ids, vectors)
        both = Compared(self.similarity, np.concatenate([self.ids, ids]), np.empty((0, vectors.shape[1]), np.float32))
        both.vectors = np.concatenate([self.vectors, more.vectors])
        return both

    def without(self, kept: Ids) -> "Compared":
        """Only those of `kept`."""
        stay = np.isin(self.ids, kept)
        fewer = Compared(self.similarity, self.ids[stay], np.empty((0, self.vectors.shape[1]), np.float32))
        fewer.vectors = self.vectors[stay]
        return fewer

    def all_scores(self, question: Floats, vectors: Floats, *, images: bool) -> Floats:
        if self._cosine:
            products: Floats = vectors @ of_length_one(question[np.newaxis])[0]
            return products
        # Order similarity tells a text from an image; two images are compared by their direction.
        similarity = self.similarity if self.similarity.symmetric or not images else COSINE
        found: Floats = similarity.scores(vectors, question[np.newaxis])[:, 0].astype(np.float32, copy=False)
        return found

    def nearest(self, question: Floats, k: int, *, images: bool = False) -> tuple[Ids, Floats]:
        scores = self.all_scores(question, self.vectors, images=images)
        self._last = (question, images, scores)
        best = top(scores, k)
        return self.ids[best], scores[best]

    def _some_scores(self, question: Floats, places: Any, *, images: bool) -> Floats:
        """Of the images at these places; a search asks for the nearest first, and then needs not compare again."""
        last = self._last
        if last is not None and last[0] is question and last[1] == images:
            known: Floats = last[2][places]
            return known
        return self.all_scores(question, self.vectors[places], images=images)

    def scores(self, question: Floats, ids: Sequence[int], *, images: bool = False) -> Floats:
        if self._places is None:
            self._places = {number: place for place, number in enumerate(self.ids.tolist())}
        found = np.full(len(ids), np.nan, np.float32)
        places = [(row, self._places[number]) for row, number in enumerate(ids) if number in self._places]
        if places:
            rows, where = zip(*places, strict=True)
            found[list(rows)] = self._some_scores(question, list(where), images=images)
        return found

    def spread(self, question: Floats, *, images: bool = False) -> tuple[float, float]:
        step = max(1, len(self.ids) // SAMPLE)
        scores = self._some_scores(question, slice(None, None, step), images=images)
        return (float(scores.mean()), float(scores.std())) if len(scores) else (0.0, 0.0)


class Proposed:
    """An index on disk that proposes, vectors in the database that decide, and in memory only what came since."""

    exact = False

    def __init__(
        self,
        index: Any,
        similarity: Similarity,
        bundle: int,
        database: Any,
        sample: Compared,
        tail: Compared,
        count: int,
    ) -> None:
        self.index, self.similarity, self.bundle, self.database = index, similarity, bundle, database
        self.sample, self.tail, self._count = sample, tail, count

    @property
    def count(self) -> int:
        return self._count

    def nearest(self, question: Floats, k: int, *, images: bool = False) -> tuple[Ids, Floats]:
        asked = of_length_one(question[np.newaxis])[0] if self.similarity.name == "cosine" else question
        # Twice as many as wanted, so that rounding in the index and images that are gone do not matter.
        proposed = self.index.search(asked, min(max(2 * k, 64), MOST_PROPOSED)).keys.astype(np.int64)
        candidates = np.unique(np.concatenate([proposed, self.tail.nearest(question, k, images=images)[0]]))
        scores = self.scores(question, candidates.tolist(), images=images)
        there = ~np.isnan(scores)
        candidates, scores = candidates[there], scores[there]
        best = top(scores, k)
        return candidates[best], scores[best]

    def scores(self, question: Floats, ids: Sequence[int], *, images: bool = False) -> Floats:
        with self.database.read() as connection:
            numbers, vectors = load(connection, self.bundle, ids=ids)
        some = Compared(self.similarity, numbers, vectors)
        return some.scores(question, ids, images=images)

    def spread(self, question: Floats, *, images: bool = False) -> tuple[float, float]:
        return self.sample.spread(question, images=images)


def load(
    connection: sqlite3.Connection, bundle: int, *, after: int = 0, ids: Sequence[int] | None = None
) -> tuple[Ids, Floats]:
    """Images' numbers and embeddings: those that came after `after`, or some by number."""
    query = "SELECT image, vector FROM told WHERE bundle = ? AND vector IS NOT NULL AND "
    if ids is None:
        rows = connection.execute(query + "seq > ?", (bundle, after))
    else:
        rows = connection.execute(query + "image IN (SELECT value FROM json_each(?))", (bundle, json.dumps(list(ids))))
    numbers: list[int] = []
    blobs = bytearray()
    for number, blob in rows:
        numbers.append(number)
        blobs += blob
    row = connection.execute("SELECT dimensions FROM bundles WHERE id = ?", (bundle,)).fetchone()
    width = row[0] if row and row[0] else 1
    return np.array(numbers, np.int64), np.frombuffer(blobs, "<f4").reshape(len(numbers), width)


def of_length_one(vectors: Floats) -> Floats:
    """Vectors of zeros stay as they are."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    with np.errstate(divide="ignore"):
        scale = np.where(lengths > 0, 1 / lengths, 0).astype(np.float32)
    found: Floats = vectors * scale[:, np.newaxis]
    return found


def top(scores: Floats, k: int) -> NDArray[np.intp]:
    """The places of the k greatest, greatest first; among equals, the first."""
    if k < len(scores):
        # All that reach the k-th greatest, so that ties at the edge are broken by place, too.
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    order = np.argsort(-scores[places], kind="stable")[:k]
    found: NDArray[np.intp] = places[order]
    return found
