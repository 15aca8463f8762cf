"""Fits, in a library, what its similarities mean; see `relevance.py`."""

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from seetell.library.search import relevance
from seetell.library.search.relevance import DEFAULT, Calibration
from seetell.library.search.vectors import Space, load
from seetell.library.search.words import content_words
from seetell.library.storage import store
from seetell.runtime import Retriever


def calibrations(row: store.BundleRow | None) -> tuple[Calibration, Calibration]:
    """Of texts and of images, as they were fitted, or the default."""
    found = [DEFAULT, DEFAULT]
    for place, name in enumerate(("texts", "images")):
        if row is not None and name in row.calibration:
            found[place] = Calibration.from_json(row.calibration[name])
    return found[0], found[1]


def sample(connection: sqlite3.Connection, bundle: int) -> tuple[list[int], list[str]]:
    """Images spread over the library, and a text of each: a person's if there is one, else the model's caption."""
    (count,) = connection.execute("SELECT count(*) FROM images").fetchone()
    step = max(1, count // relevance.SAMPLE)
    rows = connection.execute(
        "SELECT p.id, coalesce(e.caption, d.text, nullif(p.description, ''), t.caption) FROM images p "
        "JOIN told t ON t.image = p.id AND t.bundle = ? AND t.vector IS NOT NULL "
        "LEFT JOIN edits e ON e.hash = p.hash LEFT JOIN descriptions d ON d.hash = p.hash ORDER BY p.id",
        (bundle,),
    ).fetchall()[::step]
    kept = [(number, text) for number, text in rows if text and content_words(text)]
    return [number for number, _ in kept], [text for _, text in kept]


def fit(
    connection: sqlite3.Connection, row: store.BundleRow, space: Space, retriever: Retriever
) -> tuple[Calibration, Calibration]:
    """Calibrations of texts and of images from the library's own texts."""
    numbers, texts = sample(connection, row.id)
    if len(numbers) < relevance.ENOUGH:
        return DEFAULT, DEFAULT
    matching, counted = relevance.judged_by_words([frozenset(content_words(text)) for text in texts])
    loaded, vectors = load(connection, row.id, ids=numbers)
    by_number = dict(zip(loaded.tolist(), vectors, strict=True))
    found = []
    for images, questions in (
        (False, retriever.embed_texts(texts)),
        (True, np.stack([by_number[number] for number in numbers])),
    ):
        s, z = np.empty((2, len(numbers), len(numbers)))
        for place, question in enumerate(questions):
            s[place] = space.scores(question, numbers, images=images)
            z[place] = relevance.outstanding(s[place], *space.spread(question, images=images))
        keep = counted.copy()
        if images:  # that an image is like itself teaches nothing
            np.fill_diagonal(keep, False)
        found.append(relevance.fit(s[keep], z[keep], matching[keep]))
    return found[0], found[1]


def judged(space: Space, retriever: Retriever, judgements: Sequence[tuple[str, int, bool]]) -> Calibration:
    """The calibration of texts from a person's judgements: a question, an image's number, whether it matches."""
    s, z, y = [], [], []
    texts = sorted({text for text, _, _ in judgements})
    for text, question in zip(texts, retriever.embed_texts(texts), strict=True):
        rows = [(number, matches) for each, number, matches in judgements if each == text]
        scores = space.scores(question, [number for number, _ in rows]).astype(np.float64)
        there = ~np.isnan(scores)
        s.append(scores[there])
        z.append(relevance.outstanding(scores[there], *space.spread(question)))
        y.append(np.array([matches for _, matches in rows], bool)[there])
    return relevance.fit(np.concatenate(s), np.concatenate(z), np.concatenate(y), "judged")


def keep(connection: sqlite3.Connection, bundle: int, texts: Calibration, images: Calibration, count: int) -> None:
    value = {"texts": texts.to_json(), "images": images.to_json(), "count": count}
    connection.execute("UPDATE bundles SET calibration = ? WHERE id = ?", (json.dumps(value), bundle))
