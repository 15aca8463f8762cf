"""The library's SQLite database: one connection per thread, and SQLite's errors as `LibraryError`s.

Write-ahead logging lets many threads and processes read while one writes. A transaction is written whole or not at
all, whatever happens to the process.
"""

import contextlib
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

from seetell.errors import LibraryError
from seetell.library.records import DamagedError
from seetell.library.storage import migration, schema
from seetell.library.storage.lock import index_lock

NAME = "library.db"
_MIGRATION_WAIT = 2.0  # seconds


class _Connection(sqlite3.Connection):
    """A connection that allows weak references, so that it is closed with its thread."""


class Database:
    """The file `library.db` in a library's folder.

    Args:
        folder: of the library.
        create: make the database if there is none.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.path = folder / NAME
        self._threads = threading.local()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._closed = False
        if not self.path.is_file():
            if not create:
                raise LibraryError(
                    "there is no library here",
                    where=str(folder),
                    remedy="Create one: seetell index FOLDER --library PATH",
                )
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise LibraryError(f"the library cannot be created: {error.strerror}", where=str(folder)) from None
        try:
            with translated_errors(self.path):
                self._prepare()
        except BaseException:
            self.close()
            raise

    @property
    def folder(self) -> Path:
        """The folder of the library."""
        return self.path.parent

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of the calling thread."""
        if self._closed:
            raise LibraryError("the library is closed", where=str(self.folder), remedy="Open it again")
        known: _Connection | None = getattr(self._threads, "connection", None)
        if known is None:
            known = self._threads.connection = connect(self.path)
            self._open.add(known)
        return known

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A snapshot of the database, unchanged for the duration of the block."""
        with translated_errors(self.path):
            connection = self.connection
            if connection.in_transaction:  # nested
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction: everything written in the block is kept, or nothing if it raises."""
        with translated_errors(self.path):
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
        """Raise `DamagedError` if the file is damaged."""
        with translated_errors(self.path):
            (found,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged(self.path)

    def close(self) -> None:
        """Close the connections of all threads."""
        self._closed = True
        for connection in list(self._open):
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _prepare(self) -> None:
        connection = self.connection
        if self._is_empty():
            with self.write():
                if self._is_empty():  # another process may have been faster
                    schema.create(connection)
        version = schema.read_format(connection)
        if version in migration.STEPS:
            # Not while a process of the earlier version is indexing; another one may be migrating it as well.
            with index_lock(self.folder, wait=_MIGRATION_WAIT), self.write():
                migration.migrate(connection, schema.read_format(connection))
            version = schema.read_format(connection)
        if not version:
            raise damaged(self.path)
        if version != str(schema.FORMAT):
            raise LibraryError(
                f"this library has format {version}, and this version of seetell reads formats up to {schema.FORMAT}",
                where=str(self.folder),
                remedy="Upgrade it: pip install --upgrade seetell",
            )

    def _is_empty(self) -> bool:
        return not self.connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]


def connect(path: Path) -> _Connection:
    """Open a database file."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False, factory=_Connection)
    try:
        connection.execute("PRAGMA page_size = 16384")  # of a new file: several embeddings fit into a page
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # what was reported as done also survives a power failure
        connection.execute("PRAGMA wal_autocheckpoint = 250")  # pages: 4 MB of log
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def damaged(path: Path) -> DamagedError:
    """The error for a damaged database."""
    return DamagedError(
        "the library's database is damaged",
        where=str(path),
        remedy="Run `seetell library check --repair`: edits are kept, and `seetell index` restores the rest",
    )


@contextlib.contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as `LibraryError`s that name the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "no such table" in str(error):
            raise damaged(path) from error
        if code in _REMEDIES:
            problem, remedy = _REMEDIES[code]
            raise LibraryError(problem, where=str(path), remedy=remedy) from error
        raise


_BUSY = ("another program has been writing to this library for a minute", "Try again later")
_NOT_WRITABLE = ("the library cannot be opened for writing", "Check the permissions of its folder")
_REMEDIES = {
    sqlite3.SQLITE_FULL: ("the disk is full", "Free some space and run it again: finished work is kept"),
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_READONLY: _NOT_WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _NOT_WRITABLE,
    sqlite3.SQLITE_PERM: _NOT_WRITABLE,
    sqlite3.SQLITE_AUTH: _NOT_WRITABLE,
    sqlite3.SQLITE_IOERR: ("reading from or writing to the disk failed", "Check the disk and its free space"),
}
