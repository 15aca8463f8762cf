"""Databases of earlier formats, brought to the current one when a library is opened.

A migration is one transaction: interrupted at any moment, it leaves the old database as it was. Tables and columns are
renamed in place, so captions, tags, edits, descriptions, ids and vectors are the same rows as before; only the
full-text index is written anew. The journal of edits (`edits.jsonl`) has the same format in all versions.
"""

import json
import sqlite3
from collections.abc import Callable

from seetell.library.storage.schema import FULLTEXT

# Format 1 → format 2: the old and the new name of each table.
RENAMED_TABLES = {"pictures": "images", "told": "predictions", "bundles": "models"}
_RENAMED_COLUMNS = (
    ("images", "look", "dhash"),
    ("models", "place", "path"),
    ("files", "picture", "image"),
    ("predictions", "picture", "image"),
    ("predictions", "bundle", "model"),
    ("tags", "picture", "image"),
)
RENAMED_META = {"bundle": "model", "coming": "next_model"}


def _from_1_to_2(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TRIGGER IF EXISTS told_gone")  # of libraries on a server; made again when it is opened
    for old, new in RENAMED_TABLES.items():
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}")
    for table, old, new in _RENAMED_COLUMNS:
        connection.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'gone'").fetchone():
        connection.execute("ALTER TABLE gone RENAME TO removed_images")
        connection.execute("ALTER TABLE removed_images RENAME COLUMN picture TO image")
    connection.execute("DROP INDEX pictures_by_time")
    connection.execute("CREATE INDEX images_by_time ON images (taken)")
    connection.execute("DROP INDEX files_by_picture")
    connection.execute("CREATE INDEX files_by_image ON files (image)")
    connection.execute(FULLTEXT)
    connection.execute("INSERT INTO fulltext (rowid, written, generated) SELECT rowid, said, told FROM words")
    connection.execute("DROP TABLE words")
    for old, new in RENAMED_META.items():
        connection.execute("UPDATE meta SET key = ? WHERE key = ?", (new, old))
    _update_json(
        connection, "SELECT key, value FROM meta WHERE key = 'index'", "UPDATE meta SET value = ? WHERE key = ?"
    )
    _update_json(connection, "SELECT id, calibration FROM models", "UPDATE models SET calibration = ? WHERE id = ?")


def _update_json(connection: sqlite3.Connection, select: str, update: str) -> None:
    for key, value in connection.execute(select).fetchall():
        if value:
            connection.execute(update, (json.dumps(rename_keys(json.loads(value))), key))


def rename_keys(row: dict[str, object]) -> dict[str, object]:
    """JSON stored by format 1, under the keys of format 2."""
    names = {"bundle": "model", "pictures": "images"}
    return {names.get(key, key): value for key, value in row.items()}


STEPS: dict[str, Callable[[sqlite3.Connection], None]] = {"1": _from_1_to_2}


def migrate(connection: sqlite3.Connection, version: str) -> None:
    """Bring a database from an earlier format to the current one, inside the caller's transaction."""
    while version in STEPS:
        STEPS[version](connection)
        version = str(int(version) + 1)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (version,))
