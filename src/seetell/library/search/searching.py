"""Searching a library: by a text, by an image, by tags, in folders and times, or by several of them at once."""

import json
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seetell.library.records import MATCHES, Found, Results
from seetell.library.search import relevance, words
from seetell.library.search.relevance import Calibration, Values
from seetell.library.search.vectors import Space
from seetell.library.storage import store

Floats = NDArray[np.float32]
DEPTH = 100  # images that each way of searching proposes, at least
NARROW = 5_000  # images that pass a filter up to which all of them are compared


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Args:
        text: embedded as `embedding`; `known` is the share of its words that the model knows, `unknown` are the others.
        like: an image's embedding.
        leave_out: an image that is not to be found: the one that was asked with.
        embedding_only: whether words do not count.
    """

    text: str = ""
    embedding: Floats | None = None
    known: float = 1.0
    unknown: tuple[str, ...] = ()
    like: Floats | None = None
    leave_out: int = 0
    embedding_only: bool = False


@dataclass(frozen=True, slots=True)
class Filters:
    """Which images may be found: with all of `tags`, none of `not_tags`, a file in `folder`, not before `since`."""

    tags: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    folder: str = ""
    since: float | None = None

    def __bool__(self) -> bool:
        return bool(self.tags or self.not_tags or self.folder or self.since is not None)

    def condition(self) -> tuple[str, list[object]]:
        """As SQL, on `images p`."""
        parts, values = [], list[object]()
        for label in self.tags:
            parts.append("EXISTS (SELECT 1 FROM tags WHERE image = p.id AND label = ? COLLATE NOCASE)")
            values.append(label)
        for label in self.not_tags:
            parts.append("NOT EXISTS (SELECT 1 FROM tags WHERE image = p.id AND label = ? COLLATE NOCASE)")
            values.append(label)
        if self.folder:
            inside, ends = store.below(self.folder)
            parts.append(f"EXISTS (SELECT 1 FROM files WHERE image = p.id AND {inside})")
            values += ends
        if self.since is not None:
            parts.append("p.taken >= ?")
            values.append(self.since)
        return " AND ".join(parts) or "1", values


def search(
    connection: sqlite3.Connection,
    space: Space | None,
    question: Question,
    filters: Filters,
    k: int,
    calibrations: tuple[Calibration, Calibration],
    among: Sequence[int] | None = None,
) -> Results:
    """The k best images; `calibrations` are those of texts and of images; `among` are all that may be found."""
    if not question.text and question.like is None:
        return listed(connection, filters, k)
    asked = words.content_words(question.text) if question.text and not question.embedding_only else []
    allowed = _allowed(connection, filters) if filters else None
    if among is not None:
        allowed = np.array(sorted(among), np.int64)
    candidates = _candidates(connection, space, question, asked, allowed, max(DEPTH, k + 1))
    numbers = [number for number in candidates if number != question.leave_out]
    chances = np.ones(len(numbers))
    similarities = np.full(len(numbers), np.nan, np.float32)
    has: dict[int, set[str]] = {}
    if question.text:
        p, similarities = _embedded(space, question.embedding, numbers, calibrations[0], images=False)
        p *= question.known**2
        if asked:
            said, has = words.which_have(connection, asked, numbers)
            q = [relevance.by_words(len(said[each]) / len(asked), len(has[each]) / len(asked)) for each in numbers]
            p = relevance.together(p, np.array(q, np.float64))
        chances *= p
    if question.like is not None:
        p, alike = _embedded(space, question.like, numbers, calibrations[1], images=True)
        chances *= p
        similarities = alike if not question.text else similarities
    # By similarity where that is all there is: probabilities of far images may all round to 0.
    plain = np.nan_to_num(similarities, nan=-np.inf)
    order = np.lexsort((np.arange(len(numbers)), -plain, -np.round(chances, 9)))
    if question.embedding_only and question.like is None:
        order = np.lexsort((np.arange(len(numbers)), -plain))
    chosen = order[:k].tolist()
    kept = {each.id: each for each in store.images(connection, [numbers[place] for place in chosen])}
    rows = [
        Found(
            *(kept[numbers[place]], float(chances[place]), bool(chances[place] >= MATCHES)),
            *(_number(similarities[place]), tuple(word for word in asked if word in has.get(numbers[place], ()))),
        )
        for place in chosen
        if numbers[place] in kept
    ]
    return Results(tuple(rows), exact=space is None or space.exact or (allowed is not None and len(allowed) <= NARROW))


def _candidates(
    connection: sqlite3.Connection,
    space: Space | None,
    question: Question,
    asked: Sequence[str],
    allowed: NDArray[np.int64] | None,
    depth: int,
) -> list[int]:
    """Images worth a closer look: the nearest by each embedding, and the best by words."""
    found: dict[int, None] = {}
    if allowed is not None and len(allowed) <= NARROW:
        return [int(each) for each in allowed]
    for vector, images in ((question.embedding, False), (question.like, True)):
        if space is not None and vector is not None:
            found |= dict.fromkeys(_nearest(space, vector, depth, allowed, images=images))
    more = words.best_by_words(connection, asked, depth if allowed is None else 10 * depth)
    if allowed is not None:
        more = [each for each in more if _contains(allowed, each)][:depth]
    found |= dict.fromkeys(more)
    if len(found) < depth:  # a library without embeddings: whatever else there is, so that there are k rows
        rows = connection.execute("SELECT id FROM images ORDER BY id LIMIT ?", (depth,)).fetchall()
        found |= dict.fromkeys(row[0] for row in rows if allowed is None or _contains(allowed, row[0]))
    return list(found)


def _nearest(space: Space, vector: Floats, depth: int, allowed: NDArray[np.int64] | None, *, images: bool) -> list[int]:
    """The nearest of those allowed; asks for more and more until there are enough, or the index gives no more."""
    wanted = depth
    while True:
        ids, _ = space.nearest(vector, wanted, images=images)
        if allowed is not None:
            kept = ids[np.isin(ids, allowed)]
        else:
            kept = ids
        if len(kept) >= depth or len(ids) < wanted or wanted >= space.count:
            return [int(each) for each in kept[:depth]]
        wanted *= 4


def _embedded(
    space: Space | None, vector: Floats | None, numbers: Sequence[int], calibration: Calibration, *, images: bool
) -> tuple[Values, Floats]:
    if space is None or vector is None or not space.count:
        return np.zeros(len(numbers)), np.full(len(numbers), np.nan, np.float32)
    scores = space.scores(vector, numbers, images=images)
    mean, deviation = space.spread(vector, images=images)
    found = calibration.probability(np.nan_to_num(scores.astype(np.float64), nan=-1e9), mean, deviation)
    return np.where(np.isnan(scores), 0.0, found), scores


def _allowed(connection: sqlite3.Connection, filters: Filters) -> NDArray[np.int64]:
    condition, values = filters.condition()
    rows = connection.execute(f"SELECT p.id FROM images p WHERE {condition} ORDER BY p.id", values).fetchall()
    return np.array([row[0] for row in rows], np.int64)


def _contains(allowed: NDArray[np.int64], number: int) -> bool:
    place = int(np.searchsorted(allowed, number))
    return place < len(allowed) and int(allowed[place]) == number


def listed(connection: sqlite3.Connection, filters: Filters, k: int, offset: int = 0) -> Results:
    """With filters alone: the surest of the tags first, then the newest. They say what they say: relevance is 1, or how
    sure the model was of its tags.
    """
    condition, values = filters.condition()
    asked = "label COLLATE NOCASE IN (SELECT value FROM json_each(?))"
    sure = f"(SELECT min(confidence) FROM tags WHERE image = p.id AND {asked})"
    rows = connection.execute(
        f"SELECT p.id, {sure if filters.tags else '1.0'} AS sure FROM images p WHERE {condition} "
        "ORDER BY sure DESC, p.taken DESC, p.id LIMIT ? OFFSET ?",
        [*([json.dumps(list(filters.tags))] if filters.tags else []), *values, k, offset],
    ).fetchall()
    chances = dict(rows)
    kept = store.images(connection, list(chances))
    return Results(tuple(Found(each, float(chances[each.id] or 0), True) for each in kept))


def _number(value: np.float32) -> float | None:
    return None if np.isnan(value) else float(value)


def folder_of(path: str | os.PathLike[str] | None) -> str:
    return "" if path is None or not os.fspath(path) else os.path.abspath(os.path.expanduser(os.fspath(path)))
