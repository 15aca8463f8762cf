"""Keeps a library's embeddings ready for searching, and the approximate index of a large library up to date.

The index (`vectors-….usearch`) is a cache: the database records which file is current, and up to which row of
`predictions` it goes; later rows are added in memory. A missing or damaged file is ignored, and built again at the end
of the next update.
"""

import contextlib
import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from seetell.library.search.vectors import SAMPLE, ApproximateSpace, ExactSpace, VectorSpace, load, normalised
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.library.storage.rows import ModelRow
from seetell.progress import SILENT, Progress
from seetell.similarity import by_name

EXACT_LIMIT = 1 << 24  # numbers in all vectors up to which all are compared: 32,768 images of 512 dimensions
CONNECTIVITY, EXPANSION = 16, 128
_IMAGES_PER_CANDIDATE = 2_000  # a search keeps one more candidate for each so many images: 500 in a million
_MAX_EXPANSION = 4_096
_CHUNK = 4_096
_MAX_TAIL = 0.1  # share of images that may be missing from the index before it is extended
_MAX_REMOVED = 0.2  # share of the index that may be removed images before it is built anew

_COUNT = "SELECT count(*) FROM predictions WHERE model = ? AND vector IS NOT NULL"


class VectorIndex:
    """Gives the searchable vectors of the model in use.

    Args:
        database: of the library.
        exact_limit: how many numbers all vectors together may have for every image to be compared.
    """

    def __init__(self, database: Database, exact_limit: int = EXACT_LIMIT) -> None:
        self._database, self._exact_limit = database, exact_limit
        self._lock = threading.Lock()
        self._space: VectorSpace | None = None
        self._state: tuple[int, int, int, str] = (0, 0, 0, "")

    def current(self) -> VectorSpace | None:
        """The vectors as they are now; None if the model has no retriever."""
        with self._lock, self._database.read() as connection:
            model = rows.current_model(connection)
            if model is None or model.similarity is None:
                return None
            last = connection.execute("SELECT max(seq) FROM predictions").fetchone()[0] or 0
            deletions = int(rows.get_meta(connection, "deletions", "0"))
            state = (model.id, last, deletions, self._recorded(connection, model))
            if self._space is None or state != self._state:
                self._space = self._load(connection, model, state)
                self._state = state
            return self._space

    def count(self) -> int:
        """The number of embeddings, without loading any."""
        with self._database.read() as connection:
            model = int(rows.get_meta(connection, "model", "0"))
            return int(connection.execute(_COUNT, (model,)).fetchone()[0])

    def check_supported(self, fingerprint: str, similarity: str | None) -> None:
        """Raise a `LibraryError` if embeddings of this model cannot be searched here."""

    def after_batch(self) -> None:
        """Called by the indexer after each batch that it wrote."""

    def prepare_next_model(self, progress: Progress, stop: threading.Event) -> None:
        """Called when a reindex has encoded all images, before it changes over to the new model."""

    def problems(self) -> list[str]:
        """What is wrong with the index; a file is a cache and is checked when it is opened."""
        return []

    def close(self) -> None:
        """Release everything but the database."""

    def refresh(self, progress: Progress = SILENT, stop: threading.Event | None = None) -> bool:
        """Build or extend the index if needed, while holding the library's lock; returns whether it changed."""
        with self._database.read() as connection:
            model = rows.current_model(connection)
            recorded = rows.get_meta(connection, "index")
            if model is None or model.similarity is None:
                return False
            (count,) = connection.execute(_COUNT, (model.id,)).fetchone()
        if not by_name(model.similarity).symmetric or count * model.dimensions <= self._exact_limit:
            return self._publish("", keep="") if recorded else False
        index, through = open_index(self._database.folder, recorded, model.id, writable=True)
        with self._database.read() as connection:
            (newer,) = connection.execute(f"{_COUNT} AND seq > ?", (model.id, through)).fetchone()
        removed = (len(index) + newer - count) if index is not None else 0
        if index is not None and removed <= _MAX_REMOVED * count and newer <= _MAX_TAIL * count:
            return False
        if index is None or removed > _MAX_REMOVED * count:
            index, through, newer = new_index(model.similarity, model.dimensions), 0, count
        with progress.task("Building the index", total=newer, unit="images") as task:
            while chunk := self._rows_after(model.id, through):
                if stop is not None and stop.is_set():
                    return False
                vectors = np.frombuffer(b"".join(row[2] for row in chunk), "<f4").reshape(len(chunk), -1)
                add(index, np.array([row[1] for row in chunk]), vectors, model.similarity)
                through = chunk[-1][0]
                task.advance(len(chunk))
        return self._save(index, model.id, through)

    def _recorded(self, connection: sqlite3.Connection, model: ModelRow) -> str:
        """What the database records about the index."""
        return rows.get_meta(connection, "index")

    def _open(self, model: ModelRow, recorded: str) -> tuple[Any, int]:
        """The index, and up to which row it goes; None without a usable one."""
        return open_index(self._database.folder, recorded, model.id)

    def _load(self, connection: sqlite3.Connection, model: ModelRow, state: tuple[int, int, int, str]) -> VectorSpace:
        assert model.similarity is not None
        similarity = by_name(model.similarity)
        index, through = self._open(model, state[3])
        old = self._space
        if index is not None:
            tail = ExactSpace(similarity, *load(connection, model.id, after=through))
            if isinstance(old, ApproximateSpace) and self._state[::3] == state[::3]:
                sample = old.sample
            else:
                sample = ExactSpace(similarity, *load(connection, model.id, ids=_sample_ids(connection, model.id)))
            (count,) = connection.execute(_COUNT, (model.id,)).fetchone()
            return ApproximateSpace(index, similarity, model.id, self._database, sample, tail, count)
        if isinstance(old, ExactSpace) and self._state[0] == model.id:
            ids, vectors = load(connection, model.id, after=self._state[1])
            space = old.restricted(old.ids[~np.isin(old.ids, ids)]) if np.isin(ids, old.ids).any() else old
            space = space.joined(ids, vectors) if len(ids) else space
            if self._state[2] != state[2]:
                kept = connection.execute("SELECT id FROM images").fetchall()
                space = space.restricted(np.array([row[0] for row in kept], np.int64))
            return space
        return ExactSpace(similarity, *load(connection, model.id))

    def _rows_after(self, model: int, after: int) -> list[tuple[int, int, bytes]]:
        with self._database.read() as connection:
            return connection.execute(
                "SELECT seq, image, vector FROM predictions WHERE model = ? AND seq > ? AND vector IS NOT NULL "
                f"ORDER BY seq LIMIT {_CHUNK}",
                (model, after),
            ).fetchall()

    def _save(self, index: Any, model: int, through: int) -> bool:
        path = self._database.folder / f"vectors-{model}-{time.time_ns():x}.usearch"
        try:
            index.save(str(path))
        except Exception:  # a full disk: the library works without an index
            with contextlib.suppress(OSError):
                path.unlink()
            return False
        row = {"file": path.name, "size": path.stat().st_size, "model": model, "through": through}
        return self._publish(json.dumps(row), keep=path.name)

    def _publish(self, recorded: str, keep: str) -> bool:
        with self._database.write() as connection:
            rows.set_meta(connection, "index", recorded)
        for old in self._database.folder.glob("vectors-*.usearch"):
            if old.name != keep:
                with contextlib.suppress(OSError):  # on Windows, a reader may still have it open
                    old.unlink()
        return True


def new_index(similarity: str, dimensions: int) -> Any:
    """An empty usearch index."""
    from usearch.index import Index

    cosine = similarity == "cosine"
    return Index(
        ndim=dimensions,
        # Eight bits per number are enough for candidates, and twice as fast to build; distances are not bounded.
        metric="cos" if cosine else "l2sq",
        dtype="i8" if cosine else "f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION,
        expansion_search=EXPANSION,
    )


def add(index: Any, ids: Any, vectors: Any, similarity: str) -> None:
    """Add vectors to an index, replacing those of the same images."""
    for image in [image for image in ids.tolist() if image in index]:
        index.remove(image)
    index.add(ids, normalised(vectors) if similarity == "cosine" else vectors)


def open_index(folder: Path, recorded: str, model: int, *, writable: bool = False) -> tuple[Any, int]:
    """The index that the database records, memory-mapped unless writable, and up to which row it goes."""
    try:
        row = json.loads(recorded or "{}")
        if row.get("model") != model or (folder / row["file"]).stat().st_size != row["size"]:
            return None, 0
        from usearch.index import Index

        index: Any = Index.restore(str(folder / row["file"]), view=not writable)
        if index is None:
            return None, 0
        index.expansion_search = min(max(EXPANSION, len(index) // _IMAGES_PER_CANDIDATE), _MAX_EXPANSION)
        return index, int(row["through"])
    except Exception:  # a missing or damaged cache is ignored
        return None, 0


def _sample_ids(connection: sqlite3.Connection, model: int) -> list[int]:
    """Ids of images from all over the library."""
    (last,) = connection.execute("SELECT max(id) FROM images").fetchone()
    step = max(1, (last or 1) // SAMPLE)
    found = connection.execute("SELECT image FROM predictions WHERE model = ? AND image % ? = 0", (model, step))
    return [row[0] for row in found]
