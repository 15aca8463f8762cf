"""The tables of a library's database, format 2.

`images` are contents, known by their hash; `files` are where they are on disk; `predictions` are what a model made of
them. `edits` and `descriptions` are what people wrote, by content, so that they outlive the image and come back with
it. `tags` and `fulltext` are derived from all of these, for searching.
"""

import sqlite3

FORMAT = 2

_STATEMENTS = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE folders (path BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE models (
    id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL UNIQUE, name TEXT NOT NULL, path TEXT NOT NULL,
    kinds TEXT NOT NULL, similarity TEXT, dimensions INTEGER, calibration TEXT
);
-- `dhash` is the difference hash of the pixels, `description` what the file's own metadata say.
CREATE TABLE images (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, width INTEGER NOT NULL, height INTEGER NOT NULL,
    bytes INTEGER NOT NULL, taken REAL NOT NULL, dhash INTEGER NOT NULL, description TEXT NOT NULL
);
CREATE INDEX images_by_time ON images (taken);
-- A file has an image, or the reason why it cannot be read.
CREATE TABLE files (
    path BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    image INTEGER REFERENCES images (id), reason TEXT, CHECK ((image IS NULL) = (reason IS NOT NULL))
);
CREATE INDEX files_by_image ON files (image);
-- `seq` only ever grows, so that new rows are found without reading the old ones.
CREATE TABLE predictions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, image INTEGER NOT NULL REFERENCES images (id) ON DELETE CASCADE,
    model INTEGER NOT NULL REFERENCES models (id), caption TEXT NOT NULL, tags TEXT NOT NULL, vector BLOB,
    UNIQUE (image, model)
);
CREATE TABLE edits (hash BLOB PRIMARY KEY, caption TEXT, tags TEXT) WITHOUT ROWID;
CREATE TABLE descriptions (hash BLOB PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tags (
    image INTEGER NOT NULL, label TEXT NOT NULL, confidence REAL NOT NULL, PRIMARY KEY (image, label)
) WITHOUT ROWID;
CREATE INDEX tags_by_label ON tags (label);
"""
# Words by people in `written`, words by the model in `generated`.
FULLTEXT = (
    "CREATE VIRTUAL TABLE fulltext USING fts5 (written, generated, tokenize = 'porter unicode61 remove_diacritics 2')"
)


def create(connection: sqlite3.Connection) -> None:
    """Create all tables in an empty database, inside the caller's transaction."""
    for statement in (*_STATEMENTS.split(";\n"), FULLTEXT):
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('format', ?)", (str(FORMAT),))


def read_format(connection: sqlite3.Connection) -> str:
    """The format of a database, or "" if it does not say."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    return "" if row is None else str(row[0])
