"""Full-text search over captions, tags and descriptions, with SQLite's FTS5 and stemming."""

import json
import re
import sqlite3
from collections.abc import Sequence

from seetell.text.stop_words import STOP_WORDS

# People also write what kind of thing they search in, which describes none of the images.
_PHOTO_WORDS = frozenset(
    (
        *("image", "images", "photo", "photos", "photograph", "photographs", "picture", "pictures"),
        *("show", "shows", "showing"),
    )
)
MAX_WORDS = 32
LONG_LISTS = 100_000  # images from which on it takes too long to read the whole list of a common word
_WORD = re.compile(r"\w+", re.UNICODE)


def content_words(text: str) -> list[str]:
    """The words of a query without stop words, each once; all words if there are only stop words."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(text.replace("_", " "))))
    return ([word for word in words if word not in STOP_WORDS and word not in _PHOTO_WORDS] or words)[:MAX_WORDS]


def quoted(word: str) -> str:
    """A word as an FTS5 string, whatever characters it has."""
    return '"' + word.replace('"', '""') + '"'


def best_by_words(connection: sqlite3.Connection, words: Sequence[str], k: int) -> list[int]:
    """Ids of images that have some of the words, best first: BM25, with people's words counting twice."""
    if not words:
        return []
    query = " OR ".join(map(quoted, words))
    rows = connection.execute(
        "SELECT rowid FROM fulltext WHERE fulltext MATCH ? ORDER BY bm25(fulltext, 2.0, 1.0), rowid LIMIT ?", (query, k)
    )
    return [row[0] for row in rows]


def find_words(
    connection: sqlite3.Connection, words: Sequence[str], images: Sequence[int]
) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """For each image, the words that people wrote about it, and the words that people or the model did."""
    written: dict[int, set[str]] = {image: set() for image in images}
    anywhere: dict[int, set[str]] = {image: set() for image in images}
    (last,) = connection.execute("SELECT max(id) FROM images").fetchone()
    # Reading the whole list of a word, if it is not long, is as fast as looking the word up image by image.
    short = (last or 0) <= LONG_LISTS
    narrow, values = (
        ("", ()) if short else ("AND rowid IN (SELECT value FROM json_each(?))", (json.dumps(list(images)),))
    )
    for word in words:
        for query, target in ((quoted(word), anywhere), (f"written : {quoted(word)}", written)):
            select = f"SELECT rowid FROM fulltext WHERE fulltext MATCH ? {narrow}"
            found = {row[0] for row in connection.execute(select, (query, *values))}
            for image in found & target.keys():
                target[image].add(word)
            if not found:  # then it is not in `written` either
                break
    return written, anywhere


def occurs(connection: sqlite3.Connection, word: str) -> bool:
    """Whether any image has the word."""
    row = connection.execute("SELECT 1 FROM fulltext WHERE fulltext MATCH ? LIMIT 1", (quoted(word),)).fetchone()
    return row is not None
