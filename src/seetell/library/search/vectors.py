"""Embeddings of images compared with that of a query: all of them while they are few, candidates of an index if many.

Both ways give the same scores: candidates of the index are compared once more with the vectors in the database. Images
that are newer than the index are compared one by one, and images that no longer exist are dropped.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seetell.library.storage.database import Database
from seetell.similarity import COSINE, Similarity

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

SAMPLE = 2_000  # images whose scores stand for those of all
MAX_CANDIDATES = 4_096


class VectorSpace(Protocol):
    """Embeddings that can be searched. `images` says that the query is an image's embedding, not a text's."""

    exact: bool

    @property
    def count(self) -> int: ...

    def nearest(self, query: Floats, k: int, *, images: bool = False) -> tuple[Ids, Floats]:
        """The ids and scores of the k most similar images, best first."""
        ...

    def scores(self, query: Floats, ids: Sequence[int], *, images: bool = False) -> Floats:
        """The scores of some images; NaN for those that have no embedding."""
        ...

    def spread(self, query: Floats, *, images: bool = False) -> tuple[float, float]:
        """Mean and standard deviation of the scores of all images."""
        ...


class ExactSpace:
    """Vectors in memory, all of which are compared. For cosine similarity they are kept normalised.

    Args:
        similarity: how vectors are compared.
        ids: of the images.
        vectors: one row per image.
    """

    exact = True

    def __init__(self, similarity: Similarity, ids: Ids, vectors: Floats) -> None:
        self.similarity, self.ids = similarity, ids
        self._cosine = similarity.name == "cosine"
        self.vectors = normalised(vectors) if self._cosine else vectors
        self._rows: dict[int, int] | None = None
        self._last: tuple[Floats, bool, Floats] | None = None  # the last query and the scores of all images

    @property
    def count(self) -> int:
        return len(self.ids)

    def joined(self, ids: Ids, vectors: Floats) -> "ExactSpace":
        """These images and more."""
        more = ExactSpace(self.similarity, ids, vectors)
        both = ExactSpace(self.similarity, np.concatenate([self.ids, ids]), np.empty((0, vectors.shape[1]), np.float32))
        both.vectors = np.concatenate([self.vectors, more.vectors])
        return both

    def restricted(self, kept: Ids) -> "ExactSpace":
        """Only the images among `kept`."""
        stay = np.isin(self.ids, kept)
        fewer = ExactSpace(self.similarity, self.ids[stay], np.empty((0, self.vectors.shape[1]), np.float32))
        fewer.vectors = self.vectors[stay]
        return fewer

    def all_scores(self, query: Floats, vectors: Floats, *, images: bool) -> Floats:
        if self._cosine:
            products: Floats = vectors @ normalised(query[np.newaxis])[0]
            return products
        # Order similarity is defined between a text and an image; two images are compared by cosine.
        similarity = self.similarity if self.similarity.symmetric or not images else COSINE
        found: Floats = similarity.scores(vectors, query[np.newaxis])[:, 0].astype(np.float32, copy=False)
        return found

    def nearest(self, query: Floats, k: int, *, images: bool = False) -> tuple[Ids, Floats]:
        scores = self.all_scores(query, self.vectors, images=images)
        self._last = (query, images, scores)
        best = top(scores, k)
        return self.ids[best], scores[best]

    def _scores_of_rows(self, query: Floats, rows: Any, *, images: bool) -> Floats:
        """The scores of some rows; a search has usually computed all of them before, in `nearest`."""
        last = self._last
        if last is not None and last[0] is query and last[1] == images:
            known: Floats = last[2][rows]
            return known
        return self.all_scores(query, self.vectors[rows], images=images)

    def scores(self, query: Floats, ids: Sequence[int], *, images: bool = False) -> Floats:
        if self._rows is None:
            self._rows = {image: row for row, image in enumerate(self.ids.tolist())}
        found = np.full(len(ids), np.nan, np.float32)
        pairs = [(index, self._rows[image]) for index, image in enumerate(ids) if image in self._rows]
        if pairs:
            indices, rows = zip(*pairs, strict=True)
            found[list(indices)] = self._scores_of_rows(query, list(rows), images=images)
        return found

    def spread(self, query: Floats, *, images: bool = False) -> tuple[float, float]:
        step = max(1, len(self.ids) // SAMPLE)
        scores = self._scores_of_rows(query, slice(None, None, step), images=images)
        return (float(scores.mean()), float(scores.std())) if len(scores) else (0.0, 0.0)


class ApproximateSpace:
    """An index that proposes candidates, which are scored with the vectors in the database.

    Args:
        index: searched for candidates: a usearch index, or a collection on a server.
        model: the id of the model that made the vectors.
        sample: some of the images; their scores stand for those of all.
        tail: the images that are newer than the index.
        count: of all images.
    """

    exact = False

    def __init__(
        self,
        index: Any,
        similarity: Similarity,
        model: int,
        database: Database,
        sample: ExactSpace,
        tail: ExactSpace,
        count: int,
    ) -> None:
        self.index, self.similarity, self.model, self.database = index, similarity, model, database
        self.sample, self.tail, self._count = sample, tail, count

    @property
    def count(self) -> int:
        return self._count

    def nearest(self, query: Floats, k: int, *, images: bool = False) -> tuple[Ids, Floats]:
        sent = normalised(query[np.newaxis])[0] if self.similarity.name == "cosine" else query
        # Twice as many as wanted, to make up for rounding in the index and for images that no longer exist.
        proposed = self.index.search(sent, min(max(2 * k, 64), MAX_CANDIDATES)).keys.astype(np.int64)
        candidates = np.unique(np.concatenate([proposed, self.tail.nearest(query, k, images=images)[0]]))
        scores = self.scores(query, candidates.tolist(), images=images)
        known = ~np.isnan(scores)
        candidates, scores = candidates[known], scores[known]
        best = top(scores, k)
        return candidates[best], scores[best]

    def scores(self, query: Floats, ids: Sequence[int], *, images: bool = False) -> Floats:
        with self.database.read() as connection:
            loaded, vectors = load(connection, self.model, ids=ids)
        return ExactSpace(self.similarity, loaded, vectors).scores(query, ids, images=images)

    def spread(self, query: Floats, *, images: bool = False) -> tuple[float, float]:
        return self.sample.spread(query, images=images)


def load(
    connection: sqlite3.Connection, model: int, *, after: int = 0, ids: Sequence[int] | None = None
) -> tuple[Ids, Floats]:
    """Ids and embeddings of images: those with a prediction after row `after`, or some by id."""
    query = "SELECT image, vector FROM predictions WHERE model = ? AND vector IS NOT NULL AND "
    if ids is None:
        rows = connection.execute(query + "seq > ?", (model, after))
    else:
        rows = connection.execute(query + "image IN (SELECT value FROM json_each(?))", (model, json.dumps(list(ids))))
    found: list[int] = []
    blobs = bytearray()
    for image, blob in rows:
        found.append(image)
        blobs += blob
    row = connection.execute("SELECT dimensions FROM models WHERE id = ?", (model,)).fetchone()
    width = row[0] if row and row[0] else 1
    return np.array(found, np.int64), np.frombuffer(blobs, "<f4").reshape(len(found), width)


def normalised(vectors: Floats) -> Floats:
    """Vectors scaled to length 1; zeros stay zeros."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    with np.errstate(divide="ignore"):
        scale = np.where(lengths > 0, 1 / lengths, 0).astype(np.float32)
    found: Floats = vectors * scale[:, np.newaxis]
    return found


def top(scores: Floats, k: int) -> NDArray[np.intp]:
    """The indices of the k greatest scores, greatest first; of equal scores the first comes first."""
    if k < len(scores):
        # All that reach the k-th greatest, so that ties at the edge are also broken by index.
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        indices = np.flatnonzero(scores >= least)
    else:
        indices = np.arange(len(scores))
    order = np.argsort(-scores[indices], kind="stable")[:k]
    found: NDArray[np.intp] = indices[order]
    return found
