"""Checks that a library's database is consistent: what `Library.check` runs."""

import json
import os
import sqlite3
from pathlib import Path

import numpy as np

from seetell.library.storage import rows
from seetell.library.storage.database import NAME

_QUICK = 256_000_000  # bytes that are read in a second or two

_COUNTS = {
    "images have no file": "SELECT count(*) FROM images WHERE id NOT IN "
    "(SELECT image FROM files WHERE image IS NOT NULL)",
    "files refer to a missing image": "SELECT count(*) FROM files WHERE image NOT IN (SELECT id FROM images)",
    "images have no prediction": "SELECT count(*) FROM images WHERE id NOT IN "
    "(SELECT image FROM predictions WHERE model = :model)",
    "images are not in the full-text index": "SELECT count(*) FROM images WHERE id NOT IN (SELECT rowid FROM fulltext)",
    "entries of the full-text index have no image": "SELECT count(*) FROM fulltext "
    "WHERE rowid NOT IN (SELECT id FROM images)",
    "tags have no image": "SELECT count(*) FROM tags WHERE image NOT IN (SELECT id FROM images)",
}


def problems(connection: sqlite3.Connection) -> list[str]:
    """Everything that is wrong with the database; reads all of it."""
    found = [row[0] for row in connection.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
    if found:
        return found
    model = rows.current_model(connection)
    model_id = model.id if model else 0
    for what, query in _COUNTS.items():
        (count,) = connection.execute(query, {"model": model_id}).fetchone()
        if count:
            found.append(f"{count} {what}")
    width = 4 * (model.dimensions if model else 0)
    predictions = "SELECT image, vector, tags FROM predictions WHERE model = ?"
    for image, vector, tags in connection.execute(predictions, (model_id,)):
        if len(vector or b"") != width or not np.isfinite(rows.vector(vector or b"")).all():
            found.append(f"the embedding of image {image} is damaged")
        json.loads(tags)
    try:
        connection.execute("INSERT INTO fulltext (fulltext) VALUES ('integrity-check')")
    except sqlite3.DatabaseError:
        found.append("the full-text index is damaged")
    return found


def is_quick(folder: Path) -> bool:
    """Whether the whole database can be read in a second or two."""
    return (folder / NAME).stat().st_size <= _QUICK


def size_on_disk(folder: str | os.PathLike[str]) -> int:
    """The size of the files in a library's folder, in bytes."""
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries if entry.is_file())
