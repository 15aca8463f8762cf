"""Rebuilds a damaged database from every row that can still be read, and from the journal of edits."""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from seetell.library.storage import edits, rows
from seetell.library.storage.database import NAME, Database
from seetell.library.storage.lock import index_lock
from seetell.library.storage.migration import RENAMED_META, RENAMED_TABLES, rename_keys

Row = tuple[Any, ...]

_FILE_COLUMNS = "path, size, mtime, {image}, reason"


def rebuild(folder: Path) -> str:
    """Replace a library's database by a new one with everything that can be recovered.

    The damaged file is kept in a folder `damaged-…`. Images that are lost are indexed again by the next update.

    Returns:
        What was recovered, in words.
    """
    with index_lock(folder):
        aside = Path(tempfile.mkdtemp(prefix=f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-", dir=folder))
        # Built in a folder of its own and moved when complete: after a kill, it can be rebuilt again.
        new_folder = aside / "new"
        for name in (NAME, f"{NAME}-wal", f"{NAME}-shm"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(folder / name, aside / name)
        database = Database(new_folder)
        try:
            with database.write() as connection:
                images = _copy(aside / NAME, connection)
                journalled = edits.replay(folder, connection)
                (edited,) = connection.execute("SELECT count(*) FROM edits").fetchone()
                rows.remove_orphans(connection)
                rows.refresh_all(connection)
            database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            database.close()
        for name in (f"{NAME}-wal", f"{NAME}-shm"):
            with contextlib.suppress(FileNotFoundError):
                (folder / name).unlink()
        os.replace(new_folder / NAME, folder / NAME)
        shutil.rmtree(new_folder, ignore_errors=True)
    return f"{images} images, and the edits of {max(journalled, edited)}; the damaged database is kept in {aside}"


def _copy(path: Path, new: sqlite3.Connection) -> int:
    """Copy every row that can be read and is consistent; returns the number of images."""
    try:
        old = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)
    except sqlite3.Error:
        return 0
    with contextlib.closing(old):
        old.text_factory = lambda data: data.decode("utf-8", "replace")
        tables = {name: old_name for old_name, name in RENAMED_TABLES.items()} if _is_format_1(old) else {}
        meta = {RENAMED_META.get(key, key): value for key, value in _rows(old, "meta", "key", "key, value")}
        _insert(new, "folders", _rows(old, "folders", "path", "path"), _is_bytes)
        _insert(new, "edits", _rows(old, "edits", "hash", "hash, caption, tags"), _is_edit)
        _insert(new, "descriptions", _rows(old, "descriptions", "hash", "hash, text"), _is_description)
        models = _rows(old, tables.get("models", "models"), "id", "*")
        current = next((row for row in models if str(row[0]) == meta.get("model")), None)
        if current is None or not _is_model(current):
            return 0
        calibration = json.dumps(rename_keys(json.loads(current[7] or "{}")))
        _insert(new, "models", [(*current[:7], calibration)], _is_model)
        rows.set_meta(new, "model", current[0])
        width = 4 * (current[6] or 0)
        every = _rows(old, tables.get("predictions", "predictions"), "seq", "*")
        predictions = [row for row in every if row[2] == current[0] and _is_prediction(row, width)]
        predicted = {row[1] for row in predictions}
        every = _rows(old, tables.get("images", "images"), "id", "*")
        _insert(new, "images", (row for row in every if row[0] in predicted), _is_image)
        images = {row[0] for row in new.execute("SELECT id FROM images")}
        _insert(new, "predictions", (row for row in predictions if row[1] in images), lambda row: True)
        every = _rows(old, "files", "rowid", _FILE_COLUMNS.format(image="picture" if tables else "image"))
        _insert(new, "files", (row for row in every if row[3] in images), _is_bytes)
    return len(images)


def _is_format_1(old: sqlite3.Connection) -> bool:
    with contextlib.suppress(sqlite3.Error):
        return old.execute("SELECT 1 FROM sqlite_schema WHERE name = 'told'").fetchone() is not None
    return False


def _rows(old: sqlite3.Connection, table: str, key: str, columns: str) -> list[Row]:
    """The rows of a table: from its start up to the damage, and from its end back to it."""
    found: dict[Row, None] = {}
    for direction in ("ASC", "DESC"):
        with contextlib.suppress(sqlite3.Error):
            for row in old.execute(f"SELECT {columns} FROM {table} ORDER BY {key} {direction}"):
                found[tuple(row)] = None
            return list(found)
    return list(found)


def _insert(new: sqlite3.Connection, table: str, found: Iterable[Row], is_sound: Callable[[Row], bool]) -> None:
    columns = f"({_FILE_COLUMNS.format(image='image')})" if table == "files" else ""
    for row in found:
        with contextlib.suppress(sqlite3.Error, ValueError, TypeError, IndexError):
            if is_sound(row):
                marks = ", ".join("?" * len(row))
                new.execute(f"INSERT OR IGNORE INTO {table} {columns} VALUES ({marks})", row)


def _is_bytes(row: Row) -> bool:
    return isinstance(row[0], bytes)


def _is_description(row: Row) -> bool:
    return isinstance(row[0], bytes) and len(row[0]) == 16 and isinstance(row[1], str)


def _is_edit(row: Row) -> bool:
    return isinstance(row[0], bytes) and len(row[0]) == 16 and (row[2] is None or isinstance(json.loads(row[2]), list))


def _is_model(row: Row) -> bool:
    with contextlib.suppress(ValueError, TypeError):
        return isinstance(row[1], str) and len(row[1]) == 64 and isinstance(json.loads(row[7] or "{}"), dict)
    return False


def _is_image(row: Row) -> bool:
    image, digest, *numbers, _ = row
    return isinstance(image, int) and len(digest) == 16 and all(isinstance(each, int | float) for each in numbers)


def _is_prediction(row: Row, width: int) -> bool:
    _, image, _, caption, tags, vector = row
    with contextlib.suppress(ValueError, TypeError):
        sound = isinstance(image, int) and isinstance(caption, str) and isinstance(json.loads(tags), list)
        vector_sound = len(vector) == width and np.isfinite(rows.vector(vector)).all() if vector else width == 0
        return sound and bool(vector_sound)
    return False
