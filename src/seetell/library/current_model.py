"""The model of a library: found by its fingerprint, opened when first needed, closed when it has been replaced."""

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from seetell.bundle import Bundle, Manifest, find_bundle, installed, read_manifest
from seetell.errors import LibraryError, SeetellError
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.library.storage.rows import ModelRow
from seetell.runtime import Model


@dataclass(slots=True)
class _Opened:
    """An open model, and how many are using it."""

    model: Model
    fingerprint: str
    users: int = 0


class CurrentModel:
    """Opens the model that made the library's predictions.

    Args:
        database: of the library.
        named: the folder of the model that the user named, if any; it must be the library's.
        threads: passed on to the model.
    """

    def __init__(self, database: Database, named: Path | None, threads: int | None) -> None:
        self._database, self._threads = database, threads
        self._named = named
        self._lock = threading.Lock()
        self._opened: _Opened | None = None
        self._replaced: list[_Opened] = []  # still in use

    def row(self) -> ModelRow | None:
        """The library's model, or None before the first update."""
        with self._database.read() as connection:
            return rows.current_model(connection)

    def settle(self) -> ModelRow:
        """The library's model; a new library takes the named one, or the built-in one, for good.

        Raises:
            LibraryError: the named model is not the library's.
        """
        row = self.row()
        if row is None:
            path = self._named or find_bundle(None)
            with self._database.write() as connection:
                model = rows.add_model(connection, read_manifest(path), os.path.abspath(path))
                rows.set_meta(connection, "model", model)
            row = self.row()
            assert row is not None
        if self._named is None or self._named_manifest.fingerprint == row.fingerprint:
            return row
        if supersedes(self._named_manifest, row.fingerprint):
            return self._adopt(row, self._named, self._named_manifest)
        raise LibraryError(
            f"this library was made with the model {row.name} ({row.fingerprint[:12]}), not with the one named; "
            "embeddings of two models cannot be compared",
            where=str(self._database.folder),
            remedy=f"Omit --model, or move the library: seetell library reindex --model {self._named}",
        )

    def forget_named(self) -> None:
        """Accept whichever model the library has, as after a reindex."""
        self._named = None

    @contextlib.contextmanager
    def use(self) -> Iterator[Model]:
        """The open model, which is not closed during the block, even if a reindex replaces it."""
        row = self.settle()
        with self._lock:
            opened = self._open(row)
            opened.users += 1
        try:
            yield opened.model
        finally:
            with self._lock:
                opened.users -= 1
                self._close_unused()

    @property
    def model(self) -> Model:
        """The open model; it is closed when a reindex, in whichever process, has replaced it."""
        with self.use() as model:
            return model

    def close(self) -> None:
        """Close every model that was opened."""
        with self._lock:
            for opened in (*self._replaced, *([self._opened] if self._opened else [])):
                opened.model.close()
            self._opened, self._replaced = None, []

    def _open(self, row: ModelRow) -> _Opened:
        if self._opened is None or self._opened.fingerprint != row.fingerprint:
            path = self._find(row)
            manifest = read_manifest(path)
            if manifest.fingerprint != row.fingerprint:
                row = self._adopt(row, path, manifest)
            new = _Opened(Model(Bundle.open(path), threads=self._threads), row.fingerprint)
            if self._opened is not None:
                self._replaced.append(self._opened)
                self._close_unused()
            self._opened = new
        return self._opened

    def _close_unused(self) -> None:
        for opened in [each for each in self._replaced if not each.users]:
            self._replaced.remove(opened)
            opened.model.close()

    def _adopt(self, row: ModelRow, path: Path, manifest: Manifest) -> ModelRow:
        """Move the library, without a reindex, to a model that computes the same results."""
        with self._database.write() as connection:
            rows.replace_model(connection, row.id, manifest, os.path.abspath(path))
        new = self.row()
        assert new is not None
        return new

    def _find(self, row: ModelRow) -> Path:
        """The folder of the library's model, or of one that supersedes it."""
        candidates = [self._named, Path(row.path), *(each.path for each in installed())]
        superseding: Path | None = None
        for path in candidates:
            with contextlib.suppress(SeetellError):
                if path is None:
                    continue
                manifest = read_manifest(path)
                if manifest.fingerprint == row.fingerprint:
                    return path
                if superseding is None and supersedes(manifest, row.fingerprint):
                    superseding = path
        if superseding is not None:
            return superseding
        raise LibraryError(
            f"the model that this library was made with is not there any more: {row.name} ({row.fingerprint[:12]})",
            where=row.path,
            remedy="Restore it, name it with --model, or move the library to another: "
            "seetell library reindex --model NAME",
        )

    @cached_property
    def _named_manifest(self) -> Manifest:
        assert self._named is not None
        return read_manifest(self._named)


def supersedes(manifest: Manifest, fingerprint: str) -> bool:
    """Whether a model computes the same results as one with this fingerprint."""
    return fingerprint in manifest.supersedes
