"""Whether a library holds together: what `Library.verify` looks at."""

import json
import os
import sqlite3
from pathlib import Path

import numpy as np

from seetell.library.storage import store
from seetell.library.storage.database import NAME


def problems(connection: sqlite3.Connection) -> list[str]:
    """What is wrong; nothing in a sound library. Reads all of it."""
    wrong = [row[0] for row in connection.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
    if wrong:
        return wrong
    bundle = store.bundle_row(connection)
    number = bundle.id if bundle else 0
    for what, query in _COUNTS.items():
        (count,) = connection.execute(query, {"bundle": number}).fetchone()
        if count:
            wrong.append(f"{count} {what}")
    width = 4 * (bundle.dimensions if bundle else 0)
    for image, vector, tags in connection.execute("SELECT image, vector, tags FROM told WHERE bundle = ?", (number,)):
        if len(vector or b"") != width or not np.isfinite(store.vector_of(vector or b"")).all():
            wrong.append(f"the embedding of image {image} is damaged")
        json.loads(tags)
    try:
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except sqlite3.DatabaseError:
        wrong.append("the index of words is damaged")
    return wrong


_COUNTS = {
    "images have no file": "SELECT count(*) FROM images WHERE id NOT IN "
    "(SELECT image FROM files WHERE image IS NOT NULL)",
    "files have no such image": "SELECT count(*) FROM files WHERE image NOT IN (SELECT id FROM images)",
    "images were not told": "SELECT count(*) FROM images WHERE id NOT IN "
    "(SELECT image FROM told WHERE bundle = :bundle)",
    "images have no words": "SELECT count(*) FROM images WHERE id NOT IN (SELECT rowid FROM words)",
    "words belong to no image": "SELECT count(*) FROM words WHERE rowid NOT IN (SELECT id FROM images)",
    "tags belong to no image": "SELECT count(*) FROM tags WHERE image NOT IN (SELECT id FROM images)",
}


def is_quick(folder: Path) -> bool:
    """Whether a database can be read through in a second or two."""
    return (folder / NAME).stat().st_size <= 256_000_000


def size_on_disk(folder: str | os.PathLike[str]) -> int:
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries if entry.is_file())
