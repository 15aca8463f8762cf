"""Searches a library with its model: embeds the query, searches vectors and words, keeps relevance calibrated."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seetell.errors import LibraryError, did_you_mean
from seetell.library.current_model import CurrentModel
from seetell.library.filters import NO_FILTERS, Filters
from seetell.library.records import SearchResults
from seetell.library.search import calibration, fulltext
from seetell.library.search.query import Query, search
from seetell.library.search.relevance import DEFAULT, Calibration
from seetell.library.search.vector_index import VectorIndex
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.runtime import Embedding, ImageLike, Model

Rank = Literal["together", "embedding"]
RANKS = ("together", "embedding")
MAX_RESULTS = 10_000
_RECALIBRATE = 0.2  # share by which the number of images may change before relevance is fitted again


class Searcher:
    """Searches a library.

    Args:
        database: of the library.
        model: embeds queries.
        index: holds the embeddings of the images.
    """

    def __init__(self, database: Database, model: CurrentModel, index: VectorIndex) -> None:
        self._database, self._model, self._index = database, model, index

    def search(
        self,
        text: str = "",
        filters: Filters = NO_FILTERS,
        *,
        like: ImageLike | Embedding | int | None = None,
        k: int = 10,
        rank: Rank = "together",
        among: Sequence[int] | None = None,
    ) -> SearchResults:
        """The k best images; see `Library.search`. `among`, if given, are the ids of all images that may be found."""
        if not 0 < k <= MAX_RESULTS:
            raise LibraryError(f"{k} results cannot be returned", where="k", remedy=f"Choose 1 to {MAX_RESULTS:,}")
        if rank not in RANKS:
            raise LibraryError(f"there is no rank {rank!r}", where="rank", remedy=did_you_mean(rank, RANKS))
        query = Query(text.strip(), embedding_only=rank == "embedding", filters=filters)
        query = replace(query, among=None if among is None else tuple(among))
        if self._model.row() is not None and (query.text or like is not None):
            query = self._with_embeddings(query, like)
        space = self._index.current()
        with self._database.read() as connection:
            fitted = calibration.stored(rows.current_model(connection))
            results = search(connection, space, query, k, fitted)
            unknown = tuple(word for word in query.unknown if not fulltext.occurs(connection, word))
        return replace(results, unknown_words=unknown)

    def calibrate(self, judgements: Sequence[tuple[str, int, bool]] = ()) -> Calibration:
        """Fit relevance to judgements, or to the library's own texts; see `Library.calibrate`."""
        row, space = self._model.settle(), self._index.current()
        if space is None or row.similarity is None:
            return DEFAULT
        with self._model.use() as model:
            if judgements:
                texts = calibration.fit_to_judgements(space, model.retriever, judgements)
                images = calibration.stored(row)[1]
            else:
                with self._database.read() as connection:
                    texts, images = calibration.fit_to_texts(connection, row, space, model.retriever)
        with self._database.write() as connection:
            calibration.store(connection, row.id, texts, images, space.count)
        return texts

    def recalibrate(self) -> None:
        """Fit relevance again if the number of images has changed much, unless it was fitted to judgements."""
        row = self._model.row()
        if row is None or row.similarity is None or row.calibration.get("texts", {}).get("how") == "judged":
            return
        count, fitted = self._index.count(), row.calibration.get("count", 0)
        if abs(count - fitted) > _RECALIBRATE * max(count, fitted):
            self.calibrate()

    def _with_embeddings(self, query: Query, like: ImageLike | Embedding | int | None) -> Query:
        if isinstance(like, int):
            query = replace(query, like=self._stored_vector(like), exclude=like)
        elif isinstance(like, Embedding):
            query = replace(query, like=like.vector)
        elif like is not None:
            with self._model.use() as model:
                query = replace(query, like=model.retriever.images(like).vector)
        if query.text:
            with self._model.use() as model:
                query = _with_text(query, model)
        return query

    def _stored_vector(self, image: int) -> NDArray[np.float32]:
        with self._database.read() as connection:
            query = "SELECT vector FROM predictions WHERE image = ? AND model = ?"
            model = int(rows.get_meta(connection, "model", "0"))
            row = connection.execute(query, (image, model)).fetchone()
        if row is None or row[0] is None:
            raise LibraryError(f"there is no image {image} with an embedding in this library")
        return rows.vector(row[0])


def _with_text(query: Query, model: Model) -> Query:
    """A query with the embedding of its text, and which of its words the model does not know."""
    if "retriever" not in model.kinds:
        return query
    words = fulltext.content_words(query.text)
    tokens = {token.lower() for token in model.retriever.unknown(query.text)}
    unknown = tuple(word for word in words if word in tokens)
    known = 1 - len(unknown) / len(words) if words else 0.0
    return replace(query, embedding=model.retriever.embed_texts([query.text])[0], known=known, unknown=unknown)
