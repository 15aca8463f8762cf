"""The library's database: its tables, a connection a thread, and SQLite's complaints in plain words.

Write-ahead logging lets many read while one writes; a transaction is whole or absent, whatever happens to the process.
"""

import contextlib
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

from seetell.library.records import DamagedError, LibraryError

FORMAT = 1
NAME = "library.db"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE folders (path BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE bundles (
    id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL UNIQUE, name TEXT NOT NULL, place TEXT NOT NULL,
    kinds TEXT NOT NULL, similarity TEXT, dimensions INTEGER, calibration TEXT
);
-- An image is a content; `look` is its difference hash, `description` what the file itself says.
CREATE TABLE images (
    id INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, width INTEGER NOT NULL, height INTEGER NOT NULL,
    bytes INTEGER NOT NULL, taken REAL NOT NULL, look INTEGER NOT NULL, description TEXT NOT NULL
);
CREATE INDEX images_by_time ON images (taken);
-- A file holds an image, or there is a reason why it does not.
CREATE TABLE files (
    path BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    image INTEGER REFERENCES images (id), reason TEXT, CHECK ((image IS NULL) = (reason IS NOT NULL))
);
CREATE INDEX files_by_image ON files (image);
-- What a bundle says of an image; `seq` only ever grows, so that new rows are found without looking at old ones.
CREATE TABLE told (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, image INTEGER NOT NULL REFERENCES images (id) ON DELETE CASCADE,
    bundle INTEGER NOT NULL REFERENCES bundles (id), caption TEXT NOT NULL, tags TEXT NOT NULL, vector BLOB,
    UNIQUE (image, bundle)
);
-- What people wrote, by content: it outlives the image, and comes back with it.
CREATE TABLE edits (hash BLOB PRIMARY KEY, caption TEXT, tags TEXT) WITHOUT ROWID;
CREATE TABLE descriptions (hash BLOB PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
-- Made from the above: tags that count, and words that are searched (people's in `said`, the model's in `told`).
CREATE TABLE tags (
    image INTEGER NOT NULL, label TEXT NOT NULL, confidence REAL NOT NULL, PRIMARY KEY (image, label)
) WITHOUT ROWID;
CREATE INDEX tags_by_label ON tags (label);
CREATE VIRTUAL TABLE words USING fts5 (said, told, tokenize = 'porter unicode61 remove_diacritics 2');
"""


class _Connection(sqlite3.Connection):
    """One that can be referred to weakly, so that it goes with its thread."""


class Database:
    """The file `library.db` in a library's folder; made when it is not there and `create` says so."""

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.path = folder / NAME
        self._threads = threading.local()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._closed = False
        if not self.path.is_file():
            if not create:
                raise LibraryError(
                    "there is no library here", where=str(folder), remedy="Make one: seetell index FOLDER --library L"
                )
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise LibraryError(f"the library cannot be made: {error.strerror}", where=str(folder)) from None
        with plainly(self.path):
            self._prepare()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's own."""
        if self._closed:
            raise LibraryError("the library is closed", where=str(self.path.parent))
        known: _Connection | None = getattr(self._threads, "connection", None)
        if known is None:
            known = self._threads.connection = connect(self.path)
            self._open.add(known)
        return known

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A view of the database that does not change while it is used."""
        with plainly(self.path):
            connection = self.connection
            if connection.in_transaction:  # inside another
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All that is written inside, or nothing of it."""
        with plainly(self.path):
            connection = self.connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.commit()
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.rollback()
                raise

    def check(self) -> None:
        """Raise `DamagedError` if the file is not whole."""
        with plainly(self.path):
            (found,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged(self.path)

    def close(self) -> None:
        self._closed = True
        for connection in list(self._open):
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _prepare(self) -> None:
        connection = self.connection
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if not tables:
            with self.write():
                # Another process may have been here since.
                if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                    for statement in _SCHEMA.split(";\n"):
                        connection.execute(statement)
                    connection.execute("INSERT INTO meta VALUES ('format', ?)", (str(FORMAT),))
        row = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        if row is None:
            raise damaged(self.path)
        if row[0] != str(FORMAT):
            raise LibraryError(
                f"this library has format {row[0]}, and this seetell reads {FORMAT}",
                where=str(self.path.parent),
                remedy="Get a newer seetell: pip install --upgrade seetell",
            )


def connect(path: Path) -> _Connection:
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False, factory=_Connection)
    try:
        connection.execute("PRAGMA page_size = 16384")  # of a new one: several embeddings fit into a page
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # what was reported as done survives a power cut, too
        connection.execute("PRAGMA wal_autocheckpoint = 250")  # pages: 4 MB of log
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def damaged(path: Path) -> DamagedError:
    return DamagedError(
        "the library's database is damaged",
        where=str(path),
        remedy="Run `seetell library check --repair`: edits are kept, and `seetell index` restores the rest",
    )


@contextlib.contextmanager
def plainly(path: Path) -> Iterator[None]:
    """SQLite's errors as a `LibraryError` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code, where = getattr(error, "sqlite_errorcode", 0) & 0xFF, str(path)
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "no such table" in str(error):
            raise damaged(path) from error
        if code == sqlite3.SQLITE_FULL:
            raise LibraryError(
                "the disk is full", where=where, remedy="Free some space and run it again: what is finished is kept"
            ) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LibraryError(
                "another program has been writing to this library for a minute", where=where, remedy="Try again later"
            ) from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
            raise LibraryError(
                "the library cannot be opened for writing", where=where, remedy="Look at the permissions of its folder"
            ) from error
        if code == sqlite3.SQLITE_IOERR:
            raise LibraryError(
                "the disk does not read or write as it should",
                where=where,
                remedy="Look at its health, and at its space",
            ) from error
        raise
