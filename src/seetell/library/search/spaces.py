"""Keeps a library's embeddings ready to be asked, and the index of a large one fresh.

The index (`vectors-….usearch`) is a cache: the database says which file is current and up to which row of it; what came
later is added in memory. Missing or damaged, it is done without, and made anew at the end of the next update.
"""

import contextlib
import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from seetell.library.search.vectors import SAMPLE, Compared, Proposed, Space, load, of_length_one
from seetell.library.storage import store
from seetell.library.storage.database import Database
from seetell.progress import SILENT, Progress
from seetell.similarity import by_name

FEW = 1 << 24  # numbers in all vectors together up to which all are compared: 32,768 images of 512 dimensions
CONNECTIVITY, EXPANSION = 16, 128
# For each so many images a search keeps one more candidate: 500 in a million.
_WIDER = 2_000
_WIDEST = 4_096
_CHUNK = 4_096
_TAIL = 0.1  # of the images may be missing from the index before it is made longer
_GONE = 0.2  # of the index may be images that are gone before it is made anew


class Spaces:
    """Gives the space of the bundle in use, as it is now."""

    def __init__(self, database: Database, few: int = FEW) -> None:
        self._database, self._few = database, few
        self._lock = threading.Lock()
        self._space: Space | None = None
        self._state: tuple[int, int, int, str] = (0, 0, 0, "")

    def current(self) -> Space | None:
        """None where the bundle has no retriever."""
        with self._lock, self._database.read() as connection:
            bundle = store.bundle_row(connection)
            if bundle is None or bundle.similarity is None:
                return None
            last = connection.execute("SELECT max(seq) FROM told").fetchone()[0] or 0
            deletions = int(store.get_meta(connection, "deletions", "0"))
            state = (bundle.id, last, deletions, self._told(connection, bundle))
            if self._space is None or state != self._state:
                self._space = self._made(connection, bundle, state)
                self._state = state
            return self._space

    def count(self) -> int:
        """How many embeddings there are; none of them is loaded."""
        with self._database.read() as connection:
            bundle = store.get_meta(connection, "bundle", "0")
            return int(connection.execute(_COUNT, (int(bundle),)).fetchone()[0])

    def accepts(self, bundle: str, similarity: str | None) -> None:
        """Raise a `LibraryError` if embeddings of this bundle (its fingerprint) cannot be searched here."""

    def keep_up(self) -> None:
        """Called by the indexer after each batch that it wrote."""

    def prepare(self, progress: Progress, stop: threading.Event) -> None:
        """Make ready for the bundle that a reindex is about to change over to."""

    def problems(self) -> list[str]:
        """What is wrong with the index; one in a file is a cache, and looked at when it is opened."""
        return []

    def close(self) -> None:
        """Let go of what is not the database's."""

    def _told(self, connection: sqlite3.Connection, bundle: store.BundleRow) -> str:
        """What the database says of the index."""
        return store.get_meta(connection, "index")

    def _opened(self, bundle: store.BundleRow, told: str) -> tuple[Any, int]:
        """The index, and up to which row it goes; None without a usable one."""
        return _opened(self._database.path.parent, told, bundle.id)

    def _made(self, connection: sqlite3.Connection, bundle: store.BundleRow, state: tuple[int, int, int, str]) -> Space:
        assert bundle.similarity is not None
        similarity = by_name(bundle.similarity)
        index, through = self._opened(bundle, state[3])
        old = self._space
        if index is not None:
            tail = Compared(similarity, *load(connection, bundle.id, after=through))
            if isinstance(old, Proposed) and self._state[::3] == state[::3]:
                sample = old.sample
            else:
                sample = Compared(similarity, *load(connection, bundle.id, ids=_drawn(connection, bundle.id)))
            (count,) = connection.execute(_COUNT, (bundle.id,)).fetchone()
            return Proposed(index, similarity, bundle.id, self._database, sample, tail, count)
        if isinstance(old, Compared) and self._state[0] == bundle.id:
            new = load(connection, bundle.id, after=self._state[1])
            space = old.without(old.ids[~np.isin(old.ids, new[0])]) if np.isin(new[0], old.ids).any() else old
            space = space.joined(*new) if len(new[0]) else space
            if self._state[2] != state[2]:
                kept = connection.execute("SELECT id FROM images").fetchall()
                space = space.without(np.array([row[0] for row in kept], np.int64))
            return space
        return Compared(similarity, *load(connection, bundle.id))

    def refresh_index(self, progress: Progress = SILENT, stop: threading.Event | None = None) -> bool:
        """Make the index, or make it longer, if there is need to; only whoever holds the library's lock may."""
        folder = self._database.path.parent
        with self._database.read() as connection:
            bundle = store.bundle_row(connection)
            told = store.get_meta(connection, "index")
            if bundle is None or bundle.similarity is None:
                return False
            (count,) = connection.execute(_COUNT, (bundle.id,)).fetchone()
            last = connection.execute("SELECT max(seq) FROM told WHERE bundle = ?", (bundle.id,)).fetchone()[0] or 0
        symmetric = by_name(bundle.similarity).symmetric
        needed = symmetric and count * bundle.dimensions > self._few
        index, through = _opened(folder, told, bundle.id, change=True) if needed else (None, 0)
        if not needed:
            return self._publish("", keep="") if told else False
        with self._database.read() as connection:
            (newer,) = connection.execute(f"{_COUNT} AND seq > ?", (bundle.id, through)).fetchone()
        gone = (len(index) + newer - count) if index is not None else 0
        if index is not None and gone <= _GONE * count and newer <= _TAIL * count:
            return False
        if index is None or gone > _GONE * count:
            index, through, newer = new_index(bundle.similarity, bundle.dimensions), 0, count
        with progress.task("Building the index", total=newer, unit="images") as task:
            while True:
                with self._database.read() as connection:
                    rows = connection.execute(
                        "SELECT seq, image, vector FROM told WHERE bundle = ? AND seq > ? AND vector IS NOT NULL "
                        f"ORDER BY seq LIMIT {_CHUNK}",
                        (bundle.id, through),
                    ).fetchall()
                if not rows:
                    break
                if stop is not None and stop.is_set():
                    return False
                vectors = np.frombuffer(b"".join(row[2] for row in rows), "<f4").reshape(len(rows), -1)
                add(index, np.array([row[1] for row in rows]), vectors, bundle.similarity)
                through = rows[-1][0]
                task.advance(len(rows))
        name = f"vectors-{bundle.id}-{time.time_ns():x}.usearch"
        try:
            index.save(str(folder / name))
        except Exception:  # a full disk: the library works without
            with contextlib.suppress(OSError):
                (folder / name).unlink()
            return False
        size = (folder / name).stat().st_size
        row = {"file": name, "size": size, "bundle": bundle.id, "through": max(through, last)}
        return self._publish(json.dumps(row), keep=name)

    def _publish(self, told: str, keep: str) -> bool:
        with self._database.write() as connection:
            store.set_meta(connection, "index", told)
        for old in self._database.path.parent.glob("vectors-*.usearch"):
            if old.name != keep:
                with contextlib.suppress(OSError):  # on Windows, a reader may have it open still
                    old.unlink()
        return True


_COUNT = "SELECT count(*) FROM told WHERE bundle = ? AND vector IS NOT NULL"


def new_index(similarity: str, dimensions: int) -> Any:
    from usearch.index import Index

    cosine = similarity == "cosine"
    return Index(
        ndim=dimensions,
        # A byte a number is enough for proposals, and twice as fast to build with; distances have no such bound.
        metric="cos" if cosine else "l2sq",
        dtype="i8" if cosine else "f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION,
        expansion_search=EXPANSION,
    )


def add(index: Any, ids: Any, vectors: Any, similarity: str) -> None:
    """Add vectors to an index; one that is there already (told again) takes the place of the old one."""
    known = [number for number in ids.tolist() if number in index]
    for number in known:
        index.remove(number)
    index.add(ids, of_length_one(vectors) if similarity == "cosine" else vectors)


def _opened(folder: Path, told: str, bundle: int, *, change: bool = False) -> tuple[Any, int]:
    """The index that the database names, mapped into memory unless it is to be changed; None without a usable one."""
    try:
        row = json.loads(told or "{}")
        if row.get("bundle") != bundle or (folder / row["file"]).stat().st_size != row["size"]:
            return None, 0
        from usearch.index import Index

        index: Any = Index.restore(str(folder / row["file"]), view=not change)
        if index is None:
            return None, 0
        index.expansion_search = min(max(EXPANSION, len(index) // _WIDER), _WIDEST)
        return index, int(row["through"])
    except Exception:  # absent or damaged: a cache is done without
        return None, 0


def _drawn(connection: sqlite3.Connection, bundle: int) -> list[int]:
    """Numbers of some images, spread over all."""
    (last,) = connection.execute("SELECT max(id) FROM images").fetchone()
    step = max(1, (last or 1) // SAMPLE)
    rows = connection.execute("SELECT image FROM told WHERE bundle = ? AND image % ? = 0", (bundle, step))
    return [row[0] for row in rows]
