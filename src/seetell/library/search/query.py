"""Answers a query: by text, by image, by filters, or by several of them at once."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seetell.library.filters import NO_FILTERS, Filters
from seetell.library.records import MATCH_THRESHOLD, SearchHit, SearchResults
from seetell.library.search import fulltext, relevance
from seetell.library.search.filtering import condition
from seetell.library.search.relevance import Calibration, Values
from seetell.library.search.vectors import Ids, VectorSpace
from seetell.library.storage import rows

Floats = NDArray[np.float32]
DEPTH = 100  # the least number of candidates of each way of searching
NARROW = 5_000  # images that pass the filters up to which all of them are compared


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Args:
        text: a sentence or words.
        embedding: of the text.
        known: the share of its content words that the model knows.
        unknown: the other words.
        like: the embedding of an image.
        exclude: the id of an image that is not a result: the one that is searched with.
        embedding_only: rank by the embedding alone, without words.
        filters: which images are searched.
        among: if given, only these images are searched.
    """

    text: str = ""
    embedding: Floats | None = None
    known: float = 1.0
    unknown: tuple[str, ...] = ()
    like: Floats | None = None
    exclude: int = 0
    embedding_only: bool = False
    filters: Filters = NO_FILTERS
    among: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Scores:
    """The scores of the candidates, in their order; `words` are those of the query that each image has."""

    ids: list[int]
    relevance: Values
    similarity: Floats
    words: dict[int, set[str]]


def search(
    connection: sqlite3.Connection,
    space: VectorSpace | None,
    query: Query,
    k: int,
    calibrations: tuple[Calibration, Calibration],
) -> SearchResults:
    """The k best images; `calibrations` are those of text queries and of image queries."""
    if not query.text and query.like is None:
        return browse(connection, query.filters, k)
    words = fulltext.content_words(query.text) if query.text and not query.embedding_only else []
    allowed = _allowed(connection, query)
    candidates = _candidates(connection, space, query, words, allowed, max(DEPTH, k + 1))
    ids = [image for image in candidates if image != query.exclude]
    scores = _score(connection, space, query, words, ids, calibrations)
    best = _order(query, scores)[:k].tolist()
    images = {each.id: each for each in rows.images(connection, [ids[index] for index in best])}
    hits = [
        SearchHit(
            images[ids[index]],
            float(scores.relevance[index]),
            bool(scores.relevance[index] >= MATCH_THRESHOLD),
            None if np.isnan(scores.similarity[index]) else float(scores.similarity[index]),
            tuple(word for word in words if word in scores.words.get(ids[index], ())),
        )
        for index in best
        if ids[index] in images
    ]
    exact = space is None or space.exact or (allowed is not None and len(allowed) <= NARROW)
    return SearchResults(tuple(hits), exact=exact)


def browse(connection: sqlite3.Connection, filters: Filters, limit: int, offset: int = 0) -> SearchResults:
    """The images that pass the filters: most confident tags first, then the newest.

    Their relevance is the model's confidence in the tags, or 1 without tags.
    """
    where, values = condition(filters)
    wanted = "label COLLATE NOCASE IN (SELECT value FROM json_each(?))"
    confidence = f"(SELECT min(confidence) FROM tags WHERE image = i.id AND {wanted})"
    found = connection.execute(
        f"SELECT i.id, {confidence if filters.tags else '1.0'} AS confidence FROM images i WHERE {where} "
        "ORDER BY confidence DESC, i.taken DESC, i.id LIMIT ? OFFSET ?",
        [*([json.dumps(list(filters.tags))] if filters.tags else []), *values, limit, offset],
    ).fetchall()
    confidences = dict(found)
    images = rows.images(connection, list(confidences))
    return SearchResults(tuple(SearchHit(each, float(confidences[each.id] or 0), True) for each in images))


def _score(
    connection: sqlite3.Connection,
    space: VectorSpace | None,
    query: Query,
    words: Sequence[str],
    ids: list[int],
    calibrations: tuple[Calibration, Calibration],
) -> _Scores:
    probability = np.ones(len(ids))
    similarity = np.full(len(ids), np.nan, np.float32)
    found: dict[int, set[str]] = {}
    if query.text:
        p, similarity = _by_embedding(space, query.embedding, ids, calibrations[0], images=False)
        p *= query.known**2
        if words:
            written, found = fulltext.find_words(connection, words, ids)
            q = [relevance.by_words(len(written[each]) / len(words), len(found[each]) / len(words)) for each in ids]
            p = relevance.combined(p, np.array(q, np.float64))
        probability *= p
    if query.like is not None:
        p, like = _by_embedding(space, query.like, ids, calibrations[1], images=True)
        probability *= p
        similarity = like if not query.text else similarity
    return _Scores(ids, probability, similarity, found)


def _order(query: Query, scores: _Scores) -> NDArray[np.intp]:
    """Best first; by similarity where relevance does not differ, as that of distant images may round to 0."""
    index = np.arange(len(scores.ids))
    similarity = np.nan_to_num(scores.similarity, nan=-np.inf)
    if query.embedding_only and query.like is None:
        return np.lexsort((index, -similarity))
    return np.lexsort((index, -similarity, -np.round(scores.relevance, 9)))


def _candidates(
    connection: sqlite3.Connection,
    space: VectorSpace | None,
    query: Query,
    words: Sequence[str],
    allowed: Ids | None,
    depth: int,
) -> list[int]:
    """Images worth scoring: the nearest by each embedding, and the best by words."""
    if allowed is not None and len(allowed) <= NARROW:
        return [int(each) for each in allowed]
    found: dict[int, None] = {}
    for vector, images in ((query.embedding, False), (query.like, True)):
        if space is not None and vector is not None:
            found |= dict.fromkeys(_nearest(space, vector, depth, allowed, images=images))
    more = fulltext.best_by_words(connection, words, depth if allowed is None else 10 * depth)
    if allowed is not None:
        more = [each for each in more if _contains(allowed, each)][:depth]
    found |= dict.fromkeys(more)
    if len(found) < depth:  # without embeddings: any other images, so that there are k results
        others = connection.execute("SELECT id FROM images ORDER BY id LIMIT ?", (depth,)).fetchall()
        found |= dict.fromkeys(row[0] for row in others if allowed is None or _contains(allowed, row[0]))
    return list(found)


def _nearest(space: VectorSpace, vector: Floats, depth: int, allowed: Ids | None, *, images: bool) -> list[int]:
    """The nearest of the allowed images; asks for more and more until there are enough, or there are no more."""
    wanted = depth
    while True:
        ids, _ = space.nearest(vector, wanted, images=images)
        kept = ids if allowed is None else ids[np.isin(ids, allowed)]
        if len(kept) >= depth or len(ids) < wanted or wanted >= space.count:
            return [int(each) for each in kept[:depth]]
        wanted *= 4


def _by_embedding(
    space: VectorSpace | None, vector: Floats | None, ids: Sequence[int], calibration: Calibration, *, images: bool
) -> tuple[Values, Floats]:
    """Probabilities and similarities of images; 0 and NaN for those without an embedding."""
    if space is None or vector is None or not space.count:
        return np.zeros(len(ids)), np.full(len(ids), np.nan, np.float32)
    scores = space.scores(vector, ids, images=images)
    mean, deviation = space.spread(vector, images=images)
    found = calibration.probability(np.nan_to_num(scores.astype(np.float64), nan=-1e9), mean, deviation)
    return np.where(np.isnan(scores), 0.0, found), scores


def _allowed(connection: sqlite3.Connection, query: Query) -> Ids | None:
    """The ids of the images that may be found, sorted; None if all may."""
    if query.among is not None:
        return np.array(sorted(query.among), np.int64)
    if not query.filters:
        return None
    where, values = condition(query.filters)
    found = connection.execute(f"SELECT i.id FROM images i WHERE {where} ORDER BY i.id", values).fetchall()
    return np.array([row[0] for row in found], np.int64)


def _contains(allowed: Ids, image: int) -> bool:
    index = int(np.searchsorted(allowed, image))
    return index < len(allowed) and int(allowed[index]) == image
