"""The embeddings of a library on a Milvus server.

The database in the library's folder stays the truth, embeddings included: what is new or gone is written there first,
in the transactions that every library has, and then to the server. The server proposes, and the vectors in the database
decide, as with an index in a file, so scores do not depend on how the server searches; what it does not have yet is
compared one by one. Sending and removing can be repeated: a kill anywhere loses and doubles nothing, and a collection
that is lost is filled again.
"""

import os
import sqlite3
import threading
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from seetell.library.records import LibraryError
from seetell.library.remote.milvus import Floats, Milvus, Proposals
from seetell.library.search.spaces import Spaces
from seetell.library.search.vectors import of_length_one
from seetell.library.storage import store
from seetell.library.storage.database import Database
from seetell.progress import SILENT, Progress
from seetell.similarity import by_name

CHUNK = 1_024  # embeddings that go to the server at once
OWNER = "owner"  # a file: it outlives a damaged database

# Images that are gone here, and not yet there. A reindex drops what the old bundle said of images that stay.
_GONE = (
    "CREATE TABLE IF NOT EXISTS gone (image INTEGER PRIMARY KEY)",
    "CREATE TRIGGER IF NOT EXISTS told_gone AFTER DELETE ON told "
    "WHEN NOT EXISTS (SELECT 1 FROM told WHERE image = OLD.image) "
    "BEGIN INSERT OR IGNORE INTO gone VALUES (OLD.image); END",
)


class ServedSpaces(Spaces):
    """Spaces of a library on a server; `chunk` is how many embeddings go there at once."""

    def __init__(self, database: Database, milvus: Milvus, chunk: int = CHUNK) -> None:
        super().__init__(database)
        self._milvus, self._chunk = milvus, chunk
        milvus.owner = _owner(database.path.parent)
        milvus.check_name()
        self._known: set[str] = set()  # bundles whose collections were looked at
        with database.write() as connection:
            for statement in _GONE:
                connection.execute(statement)

    def close(self) -> None:
        self._milvus.close()

    def accepts(self, bundle: str, similarity: str | None) -> None:
        if similarity is not None and not by_name(similarity).symmetric:
            raise LibraryError(
                f"no server can search embeddings that are compared by {similarity}",
                where=str(self._milvus.server),
                remedy="Use a bundle with cosine or Euclidean similarity, or a library in a folder",
            )
        if similarity is not None:
            self._milvus.has(bundle)

    def keep_up(self) -> None:
        with self._database.read() as connection:
            bundle = store.bundle_row(connection)
            assert bundle is not None
            last = connection.execute("SELECT max(seq) FROM told").fetchone()[0] or 0
            through = int(self._told(connection, bundle) or 0)
        if bundle.similarity is not None and last - through >= self._chunk:
            self._fill(bundle, SILENT, threading.Event())

    def prepare(self, progress: Progress, stop: threading.Event) -> None:
        with self._database.read() as connection:
            coming = store.bundle_row(connection, "coming")
        if coming is not None and coming.similarity is not None:
            self._fill(coming, progress, stop)

    def refresh_index(self, progress: Progress = SILENT, stop: threading.Event | None = None) -> bool:
        with self._database.read() as connection:
            bundle, coming = store.bundle_row(connection), store.bundle_row(connection, "coming")
        if bundle is None or bundle.similarity is None or not self._fill(bundle, progress, stop or threading.Event()):
            return False
        filled = [each for each in (bundle, coming) if each is not None and self._milvus.has(each.fingerprint)]
        self._remove_gone(filled)
        self._milvus.use(bundle.fingerprint, keep=[each.fingerprint for each in filled])
        return True

    def problems(self) -> list[str]:
        with self._database.read() as connection:
            bundle = store.bundle_row(connection)
            if bundle is None or not (through := int(self._told(connection, bundle) or 0)):
                return []
            count = "SELECT count(*) FROM told WHERE bundle = ? AND vector IS NOT NULL AND seq"
            (here,) = connection.execute(f"{count} <= ?", (bundle.id, through)).fetchone()
            (newer,) = connection.execute(f"{count} > ?", (bundle.id, through)).fetchone()
            (gone,) = connection.execute("SELECT count(*) FROM gone").fetchone()
        there = self._milvus.count(bundle.fingerprint) if self._milvus.has(bundle.fingerprint) else 0
        # It may still have what is gone, and what was told again, as it was before.
        if here <= there <= here + newer + gone:
            return []
        return [f"the server has {there} embeddings, and should have {here}"]

    def _told(self, connection: sqlite3.Connection, bundle: store.BundleRow) -> str:
        return store.get_meta(connection, _key(bundle))

    def _opened(self, bundle: store.BundleRow, told: str) -> tuple[Any, int]:
        if not told:
            return None, 0
        if bundle.fingerprint not in self._known:
            if not self._milvus.has(bundle.fingerprint):
                raise LibraryError(
                    "the server has lost this library's embeddings",
                    where=str(self._milvus.server),
                    remedy="Run `seetell index` with this library: it fills the server again, without telling anew",
                )
            self._milvus.load(bundle.fingerprint)
            self._known.add(bundle.fingerprint)
        return _Index(self._milvus, bundle), int(told)

    def _fill(self, bundle: store.BundleRow, progress: Progress, stop: threading.Event) -> bool:
        """Send what the server does not have yet; whether it has all now."""
        assert bundle.similarity is not None
        with self._database.read() as connection:
            through = int(self._told(connection, bundle) or 0)
        expected = bundle.fingerprint in self._known or self._milvus.has(bundle.fingerprint)
        if not through or not expected:
            with self._database.write() as connection:
                store.set_meta(connection, _key(bundle), "")
            self._milvus.create(bundle.fingerprint, bundle.dimensions, _metric(bundle))
            through = 0
        self._known.add(bundle.fingerprint)
        query = "FROM told WHERE bundle = ? AND seq > ? AND vector IS NOT NULL"
        with self._database.read() as connection:
            (newer,) = connection.execute(f"SELECT count(*) {query}", (bundle.id, through)).fetchone()
        if not newer:
            return True
        with progress.task("Sending embeddings", total=newer, unit="images") as task:
            while not stop.is_set():
                with self._database.read() as connection:
                    rows = connection.execute(
                        f"SELECT seq, image, vector {query} ORDER BY seq LIMIT {self._chunk}", (bundle.id, through)
                    ).fetchall()
                if not rows:
                    return True
                vectors = np.frombuffer(b"".join(row[2] for row in rows), "<f4").reshape(len(rows), -1)
                self._milvus.put(bundle.fingerprint, [row[1] for row in rows], _sent(bundle, vectors))
                through = rows[-1][0]
                with self._database.write() as connection:
                    store.set_meta(connection, _key(bundle), through)
                task.advance(len(rows))
        return False

    def _remove_gone(self, bundles: list[store.BundleRow]) -> None:
        with self._database.read() as connection:
            # A number that came back (in a database that was rebuilt) stays.
            gone = [row[0] for row in connection.execute("SELECT image FROM gone")]
            back = {row[0] for row in connection.execute("SELECT image FROM gone JOIN told USING (image)")}
        for bundle in bundles if gone else ():
            self._milvus.remove(bundle.fingerprint, [each for each in gone if each not in back])
        if gone:
            with self._database.write() as connection:
                connection.executemany("DELETE FROM gone WHERE image = ?", ((each,) for each in gone))


class _Index:
    """Asked in the way of an index in a file."""

    def __init__(self, milvus: Milvus, bundle: store.BundleRow) -> None:
        self._milvus, self._bundle = milvus, bundle

    def search(self, question: Floats, k: int) -> Proposals:
        return Proposals(self._milvus.nearest(self._bundle.fingerprint, question, k, _metric(self._bundle)))


def _metric(bundle: store.BundleRow) -> str:
    return "IP" if bundle.similarity == "cosine" else "L2"


def _sent(bundle: store.BundleRow, vectors: Floats) -> Floats:
    """For cosine similarity at length 1, so that it is a product, and vectors of zeros do no harm."""
    return of_length_one(vectors) if bundle.similarity == "cosine" else vectors


def _key(bundle: store.BundleRow) -> str:
    """Under which the database remembers up to which row of `told` the server has everything."""
    return f"milvus {bundle.fingerprint}"


def _owner(folder: Path) -> str:
    path = folder / OWNER
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        new = path.with_name(f"{OWNER}.{os.getpid()}")
        new.write_text(f"{uuid.uuid4().hex}\n", encoding="utf-8")
        os.replace(new, path)
        return path.read_text(encoding="utf-8").strip()
