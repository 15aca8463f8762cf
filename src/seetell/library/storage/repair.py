"""A damaged database made anew: every row that can still be read and holds together, and all that people wrote."""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seetell.library.paths import indexing
from seetell.library.storage import edits, store
from seetell.library.storage.database import NAME, Database

Row = tuple[Any, ...]


def rebuild(folder: Path) -> str:
    """Put a new database in the place of the one that is there; what was saved, in words.

    The damaged file is kept beside it, in `damaged-…`. Images that are lost are told again by the next update.
    """
    with indexing(folder):
        aside = Path(tempfile.mkdtemp(prefix=f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-", dir=folder))
        # Made in a folder of its own, and moved when it is whole: a kill leaves the damaged one to be rebuilt again.
        made = aside / "new"
        for name in (NAME, f"{NAME}-wal", f"{NAME}-shm"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(folder / name, aside / name)
        database = Database(made)
        try:
            with database.write() as connection:
                images = _copy(aside / NAME, connection)
                written = edits.replay(folder, connection)
                (written_in,) = connection.execute("SELECT count(*) FROM edits").fetchone()
                store.forget_orphans(connection)
                numbers = [row[0] for row in connection.execute("SELECT id FROM images")]
                for begin in range(0, len(numbers), 1_000):
                    store.refresh(connection, numbers[begin : begin + 1_000])
            database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            database.close()
        for name in (f"{NAME}-wal", f"{NAME}-shm"):
            with contextlib.suppress(FileNotFoundError):
                (folder / name).unlink()
        os.replace(made / NAME, folder / NAME)
        shutil.rmtree(made, ignore_errors=True)
    return f"{images} images, and what people wrote of {max(written, written_in)}; the damaged one is in {aside}"


def _copy(path: Path, new: sqlite3.Connection) -> int:
    """Copy what can be read; how many images there are with all that belongs to them."""
    try:
        old = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)
    except sqlite3.Error:
        return 0
    with contextlib.closing(old):
        old.text_factory = lambda data: data.decode("utf-8", "replace")
        meta: dict[Any, Any] = dict(_rows(old, "meta", "key", "key, value"))
        _keep(new, "folders", (row for row in _rows(old, "folders", "path", "path")), _is_bytes)
        _keep(new, "edits", _rows(old, "edits", "hash", "hash, caption, tags"), _is_edit)
        _keep(new, "descriptions", _rows(old, "descriptions", "hash", "hash, text"), _is_hash)
        bundles = _rows(old, "bundles", "id", "*")
        current = next((row for row in bundles if str(row[0]) == meta.get("bundle")), None)
        if current is None or not _is_bundle(current):
            return 0
        _keep(new, "bundles", [current], _is_bundle)
        store.set_meta(new, "bundle", current[0])
        width = 4 * (current[6] or 0)
        told = [row for row in _rows(old, "told", "seq", "*") if row[2] == current[0] and _is_told(row, width)]
        have = {row[1] for row in told}
        _keep(new, "images", (r for r in _rows(old, "images", "id", "*") if r[0] in have), _is_image)
        whole = {row[0] for row in new.execute("SELECT id FROM images")}
        _keep(new, "told", (row for row in told if row[1] in whole), lambda row: True)
        files = "path, size, mtime, image, reason"
        _keep(new, "files", (r for r in _rows(old, "files", "rowid", files) if r[3] in whole), _is_bytes)
    return len(whole)


def _rows(old: sqlite3.Connection, table: str, key: str, columns: str) -> list[Row]:
    """The rows of a table: from its warm_start up to the damage, and from its end back to it."""
    found: dict[Row, None] = {}
    for direction in ("ASC", "DESC"):
        with contextlib.suppress(sqlite3.Error):
            for row in old.execute(f"SELECT {columns} FROM {table} ORDER BY {key} {direction}"):
                found[tuple(row)] = None
            return list(found)
    return list(found)


def _keep(new: sqlite3.Connection, table: str, rows: "Iterator[Row] | list[Row]", sound: Callable[[Row], bool]) -> None:
    for row in rows:
        with contextlib.suppress(sqlite3.Error, ValueError, TypeError, IndexError):
            if sound(row):
                named = "(path, size, mtime, image, reason)" if table == "files" else ""
                marks = ", ".join("?" * len(row))
                new.execute(f"INSERT OR IGNORE INTO {table} {named} VALUES ({marks})", row)


def _is_bytes(row: Row) -> bool:
    return isinstance(row[0], bytes)


def _is_hash(row: Row) -> bool:
    return isinstance(row[0], bytes) and len(row[0]) == 16 and isinstance(row[1], str)


def _is_edit(row: Row) -> bool:
    return isinstance(row[0], bytes) and len(row[0]) == 16 and (row[2] is None or isinstance(json.loads(row[2]), list))


def _is_bundle(row: Row) -> bool:
    return isinstance(row[1], str) and len(row[1]) == 64 and isinstance(json.loads(row[7] or "{}"), dict)


def _is_image(row: Row) -> bool:
    number, digest, *sizes, _ = row
    return isinstance(number, int) and len(digest) == 16 and all(isinstance(each, int | float) for each in sizes)


def _is_told(row: Row, width: int) -> bool:
    _, image, _, caption, tags, vector = row
    with contextlib.suppress(ValueError, TypeError):
        sound = isinstance(image, int) and isinstance(caption, str) and isinstance(json.loads(tags), list)
        vector_sound = len(vector) == width and np.isfinite(store.vector_of(vector)).all() if vector else width == 0
        return sound and bool(vector_sound)
    return False
