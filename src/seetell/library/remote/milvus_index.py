"""The embeddings of a library on a Milvus server.

The database in the library's folder stays authoritative, embeddings included: changes are written there first, in the
same transactions as in a local library, and then sent to the server. As with a local index, the server proposes
candidates, which are scored with the vectors in the database, so scores do not depend on the server; images that it
does not have yet are compared one by one. Sending and removing can be repeated: a kill at any moment neither loses nor
duplicates anything, and a lost collection is filled again.
"""

import sqlite3
import threading
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from seetell.errors import LibraryError
from seetell.files import write_file
from seetell.library.remote.milvus import Candidates, Floats, Milvus
from seetell.library.search.vector_index import VectorIndex
from seetell.library.search.vectors import normalised
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.library.storage.rows import ModelRow
from seetell.progress import SILENT, Progress
from seetell.similarity import by_name

CHUNK = 1_024  # embeddings that are sent at once
OWNER = "owner"  # a file, so that it survives damage to the database

# Images that have been removed here, but not yet on the server. A reindex also deletes predictions of images that stay.
_REMOVED = (
    "CREATE TABLE IF NOT EXISTS removed_images (image INTEGER PRIMARY KEY)",
    "CREATE TRIGGER IF NOT EXISTS prediction_removed AFTER DELETE ON predictions "
    "WHEN NOT EXISTS (SELECT 1 FROM predictions WHERE image = OLD.image) "
    "BEGIN INSERT OR IGNORE INTO removed_images VALUES (OLD.image); END",
)


class MilvusIndex(VectorIndex):
    """The vectors of a library on a server.

    Args:
        database: of the library.
        milvus: the server.
        chunk: how many embeddings are sent at once.
    """

    def __init__(self, database: Database, milvus: Milvus, chunk: int = CHUNK) -> None:
        super().__init__(database)
        self._milvus, self._chunk = milvus, chunk
        milvus.owner = _owner(database.folder)
        milvus.check_name()
        self._known: set[str] = set()  # fingerprints of models whose collections were checked
        with database.write() as connection:
            for statement in _REMOVED:
                connection.execute(statement)

    def close(self) -> None:
        self._milvus.close()

    def check_supported(self, fingerprint: str, similarity: str | None) -> None:
        if similarity is not None and not by_name(similarity).symmetric:
            raise LibraryError(
                f"a server cannot search embeddings that are compared by {similarity}",
                where=str(self._milvus.server),
                remedy="Use a model with cosine or Euclidean similarity, or a library in a folder",
            )
        if similarity is not None:
            self._milvus.has(fingerprint)

    def after_batch(self) -> None:
        with self._database.read() as connection:
            model = rows.current_model(connection)
            assert model is not None
            last = connection.execute("SELECT max(seq) FROM predictions").fetchone()[0] or 0
            through = int(self._recorded(connection, model) or 0)
        if model.similarity is not None and last - through >= self._chunk:
            self._fill(model, SILENT, threading.Event())

    def prepare_next_model(self, progress: Progress, stop: threading.Event) -> None:
        with self._database.read() as connection:
            coming = rows.current_model(connection, "next_model")
        if coming is not None and coming.similarity is not None:
            self._fill(coming, progress, stop)

    def refresh(self, progress: Progress = SILENT, stop: threading.Event | None = None) -> bool:
        with self._database.read() as connection:
            model, coming = rows.current_model(connection), rows.current_model(connection, "next_model")
        if model is None or model.similarity is None or not self._fill(model, progress, stop or threading.Event()):
            return False
        filled = [each for each in (model, coming) if each is not None and self._milvus.has(each.fingerprint)]
        self._send_removals(filled)
        self._milvus.use(model.fingerprint, keep=[each.fingerprint for each in filled])
        return True

    def problems(self) -> list[str]:
        with self._database.read() as connection:
            model = rows.current_model(connection)
            if model is None or not (through := int(self._recorded(connection, model) or 0)):
                return []
            count = "SELECT count(*) FROM predictions WHERE model = ? AND vector IS NOT NULL AND seq"
            (here,) = connection.execute(f"{count} <= ?", (model.id, through)).fetchone()
            (newer,) = connection.execute(f"{count} > ?", (model.id, through)).fetchone()
            (gone,) = connection.execute("SELECT count(*) FROM removed_images").fetchone()
        there = self._milvus.count(model.fingerprint) if self._milvus.has(model.fingerprint) else 0
        # It may still have images that were removed here, and earlier embeddings of changed ones.
        if here <= there <= here + newer + gone:
            return []
        return [f"the server has {there} embeddings instead of {here}"]

    def _recorded(self, connection: sqlite3.Connection, model: ModelRow) -> str:
        return rows.get_meta(connection, _key(model))

    def _open(self, model: ModelRow, recorded: str) -> tuple[Any, int]:
        if not recorded:
            return None, 0
        if model.fingerprint not in self._known:
            if not self._milvus.has(model.fingerprint):
                raise LibraryError(
                    "the server has lost this library's embeddings",
                    where=str(self._milvus.server),
                    remedy="Run `seetell index` with this library: it sends them again, without encoding any image",
                )
            self._milvus.load(model.fingerprint)
            self._known.add(model.fingerprint)
        return _Index(self._milvus, model), int(recorded)

    def _fill(self, model: ModelRow, progress: Progress, stop: threading.Event) -> bool:
        """Send what the server does not have yet; returns whether it has everything now."""
        assert model.similarity is not None
        with self._database.read() as connection:
            through = int(self._recorded(connection, model) or 0)
        expected = model.fingerprint in self._known or self._milvus.has(model.fingerprint)
        if not through or not expected:
            with self._database.write() as connection:
                rows.set_meta(connection, _key(model), "")
            self._milvus.create(model.fingerprint, model.dimensions, _metric(model))
            through = 0
        self._known.add(model.fingerprint)
        query = "FROM predictions WHERE model = ? AND seq > ? AND vector IS NOT NULL"
        with self._database.read() as connection:
            (newer,) = connection.execute(f"SELECT count(*) {query}", (model.id, through)).fetchone()
        if not newer:
            return True
        with progress.task("Sending embeddings", total=newer, unit="images") as task:
            while not stop.is_set():
                with self._database.read() as connection:
                    chunk = connection.execute(
                        f"SELECT seq, image, vector {query} ORDER BY seq LIMIT {self._chunk}", (model.id, through)
                    ).fetchall()
                if not chunk:
                    return True
                vectors = np.frombuffer(b"".join(row[2] for row in chunk), "<f4").reshape(len(chunk), -1)
                self._milvus.put(model.fingerprint, [row[1] for row in chunk], _sent(model, vectors))
                through = chunk[-1][0]
                with self._database.write() as connection:
                    rows.set_meta(connection, _key(model), through)
                task.advance(len(chunk))
        return False

    def _send_removals(self, models: list[ModelRow]) -> None:
        with self._database.read() as connection:
            # An id that is in use again, in a database that was rebuilt, stays.
            gone = [row[0] for row in connection.execute("SELECT image FROM removed_images")]
            used = "SELECT image FROM removed_images JOIN predictions USING (image)"
            back = {row[0] for row in connection.execute(used)}
        for model in models if gone else ():
            self._milvus.remove(model.fingerprint, [each for each in gone if each not in back])
        if gone:
            with self._database.write() as connection:
                connection.executemany("DELETE FROM removed_images WHERE image = ?", ((each,) for each in gone))


class _Index:
    """A collection with the interface of a usearch index."""

    def __init__(self, milvus: Milvus, model: ModelRow) -> None:
        self._milvus, self._model = milvus, model

    def search(self, query: Floats, k: int) -> Candidates:
        return Candidates(self._milvus.nearest(self._model.fingerprint, query, k, _metric(self._model)))


def _metric(model: ModelRow) -> str:
    return "IP" if model.similarity == "cosine" else "L2"


def _sent(model: ModelRow, vectors: Floats) -> Floats:
    """Normalised for cosine similarity, which then is the inner product."""
    return normalised(vectors) if model.similarity == "cosine" else vectors


def _key(model: ModelRow) -> str:
    """The key under which the database records up to which row of `predictions` the server has everything."""
    return f"milvus {model.fingerprint}"


def _owner(folder: Path) -> str:
    path = folder / OWNER
    if not path.exists():
        write_file(path, f"{uuid.uuid4().hex}\n", error=LibraryError)
    return path.read_text(encoding="utf-8").strip()
