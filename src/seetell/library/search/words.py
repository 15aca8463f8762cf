"""The words of a question, and which images have them among their own (SQLite's full text, stems of words).

`said` is what people wrote, `told` what the model said.
"""

import json
import re
import sqlite3
from collections.abc import Sequence

# Words that tell nothing of an image: they are not looked for.
EMPTY = frozenset(
    """a an and are as at be being by for from has have he her his i in into is it its me my near next of off on onto or
    our over image images photo photos picture pictures show she some someone something that the their them there they
    this to up was were what where which who with you your""".split()  # noqa: SIM905
)
MOST_WORDS = 32
LONG_LISTS = 100_000  # images from which on the lists of common words are too long to be read whole
_WORD = re.compile(r"\w+", re.UNICODE)


def content_words(text: str) -> list[str]:
    """The words of a question that say something, each once; all of them if none does."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(text.replace("_", " "))))
    return ([word for word in words if word not in EMPTY] or words)[:MOST_WORDS]


def quoted(word: str) -> str:
    """A word as FTS5 takes it, whatever it is."""
    return '"' + word.replace('"', '""') + '"'


def best_by_words(connection: sqlite3.Connection, words: Sequence[str], k: int) -> list[int]:
    """Images that have some of the words, best first: by BM25, people's words counting twice."""
    if not words:
        return []
    question = " OR ".join(map(quoted, words))
    rows = connection.execute(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 2.0, 1.0), rowid LIMIT ?", (question, k)
    )
    return [row[0] for row in rows]


def which_have(
    connection: sqlite3.Connection, words: Sequence[str], images: Sequence[int]
) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """Of each image, the question's words that people said of it, and those that anybody did."""
    said: dict[int, set[str]] = {number: set() for number in images}
    any_: dict[int, set[str]] = {number: set() for number in images}
    (last,) = connection.execute("SELECT max(id) FROM images").fetchone()
    # Looking a word up for one image after another takes as long as reading its whole list, if that is not long.
    few = (last or 0) <= LONG_LISTS
    narrow, values = ("", ()) if few else ("AND rowid IN (SELECT value FROM json_each(?))", (json.dumps(list(images)),))
    for word in words:
        for question, where in ((quoted(word), any_), (f"said : {quoted(word)}", said)):
            query = f"SELECT rowid FROM words WHERE words MATCH ? {narrow}"
            found = {row[0] for row in connection.execute(query, (question, *values))}
            for number in found & where.keys():
                where[number].add(word)
            if not found:  # nor do people say it
                break
    return said, any_


def is_anywhere(connection: sqlite3.Connection, word: str) -> bool:
    """Whether any image has the word."""
    row = connection.execute("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (quoted(word),)).fetchone()
    return row is not None
