"""Fits a library's calibration, to its own texts or to a person's judgements; see `relevance.py`."""

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from seetell.library.search import relevance
from seetell.library.search.fulltext import content_words
from seetell.library.search.relevance import DEFAULT, Calibration
from seetell.library.search.vectors import VectorSpace, load
from seetell.library.storage.rows import ModelRow
from seetell.runtime import Retriever


def stored(model: ModelRow | None) -> tuple[Calibration, Calibration]:
    """The calibrations of text queries and of image queries: as fitted, or the default."""
    rows = {} if model is None else model.calibration
    texts, images = (Calibration.from_json(rows[name]) if name in rows else DEFAULT for name in ("texts", "images"))
    return texts, images


def store(connection: sqlite3.Connection, model: int, texts: Calibration, images: Calibration, count: int) -> None:
    """Store calibrations that were fitted when there were `count` images."""
    value = {"texts": texts.to_json(), "images": images.to_json(), "count": count}
    connection.execute("UPDATE models SET calibration = ? WHERE id = ?", (json.dumps(value), model))


def sample(connection: sqlite3.Connection, model: int) -> tuple[list[int], list[str]]:
    """Images from all over the library, and a text of each: a person's if there is one, else the model's caption."""
    (count,) = connection.execute("SELECT count(*) FROM images").fetchone()
    step = max(1, count // relevance.SAMPLE)
    rows = connection.execute(
        "SELECT i.id, coalesce(e.caption, d.text, nullif(i.description, ''), p.caption) FROM images i "
        "JOIN predictions p ON p.image = i.id AND p.model = ? AND p.vector IS NOT NULL "
        "LEFT JOIN edits e ON e.hash = i.hash LEFT JOIN descriptions d ON d.hash = i.hash ORDER BY i.id",
        (model,),
    ).fetchall()[::step]
    kept = [(image, text) for image, text in rows if text and content_words(text)]
    return [image for image, _ in kept], [text for _, text in kept]


def fit_to_texts(
    connection: sqlite3.Connection, model: ModelRow, space: VectorSpace, retriever: Retriever
) -> tuple[Calibration, Calibration]:
    """Calibrations of text queries and of image queries, fitted to the library's own texts."""
    ids, texts = sample(connection, model.id)
    if len(ids) < relevance.MIN_TEXTS:
        return DEFAULT, DEFAULT
    matching, counted = relevance.judge_by_words([frozenset(content_words(text)) for text in texts])
    loaded, vectors = load(connection, model.id, ids=ids)
    by_id = dict(zip(loaded.tolist(), vectors, strict=True))
    found = []
    for images, queries in (
        (False, retriever.embed_texts(texts)),
        (True, np.stack([by_id[image] for image in ids])),
    ):
        s, z = np.empty((2, len(ids), len(ids)))
        for index, query in enumerate(queries):
            s[index] = space.scores(query, ids, images=images)
            z[index] = relevance.standardised(s[index], *space.spread(query, images=images))
        keep = counted.copy()
        if images:  # an image is always like itself
            np.fill_diagonal(keep, False)
        found.append(relevance.fit(s[keep], z[keep], matching[keep]))
    return found[0], found[1]


def fit_to_judgements(
    space: VectorSpace, retriever: Retriever, judgements: Sequence[tuple[str, int, bool]]
) -> Calibration:
    """The calibration of text queries fitted to judgements: a text, an image's id, whether they match."""
    s, z, y = [], [], []
    texts = sorted({text for text, _, _ in judgements})
    for text, query in zip(texts, retriever.embed_texts(texts), strict=True):
        judged = [(image, matches) for each, image, matches in judgements if each == text]
        scores = space.scores(query, [image for image, _ in judged]).astype(np.float64)
        known = ~np.isnan(scores)
        s.append(scores[known])
        z.append(relevance.standardised(scores[known], *space.spread(query)))
        y.append(np.array([matches for _, matches in judged], bool)[known])
    return relevance.fit(np.concatenate(s), np.concatenate(z), np.concatenate(y), "judged")
