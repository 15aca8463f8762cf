"""The bundle of a library: found again by its fingerprint, opened when it is first needed, never mixed with another."""

import contextlib
import os
import threading
from functools import cached_property
from pathlib import Path

from seetell.bundle import Bundle, find_bundle, installed, read_manifest
from seetell.errors import SeetellError
from seetell.library.records import LibraryError
from seetell.library.storage import store
from seetell.library.storage.database import Database
from seetell.library.storage.store import BundleRow
from seetell.runtime import Model


class Models:
    """Gives the model that fits what is in the library.

    Args:
        named: the bundle that the user named, if any; it must be the library's.
    """

    def __init__(self, database: Database, named: str | os.PathLike[str] | None, threads: int | None) -> None:
        self._database, self._threads = database, threads
        self.named = None if named is None else find_bundle(named)
        self._lock = threading.Lock()
        self._suite: Model | None = None
        self._fingerprint = ""  # of that model; a bundle computes its own anew each time
        self._old: list[Model] = []

    def row(self) -> BundleRow | None:
        with self._database.read() as connection:
            return store.bundle_row(connection)

    def settle(self) -> BundleRow:
        """The library's bundle; a new library takes the one that was named, or the built-in one, for good."""
        row = self.row()
        if row is None:
            place = self.named or find_bundle(None)
            manifest = read_manifest(place)
            with self._database.write() as connection:
                number = store.add_bundle(connection, manifest, os.path.abspath(place))
                store.set_meta(connection, "bundle", number)
            row = self.row()
            assert row is not None
        self.check(row)
        return row

    def check(self, row: BundleRow) -> None:
        """Refuse a bundle that was named and is not the library's."""
        if self.named is not None and self._named_fingerprint != row.fingerprint:
            raise LibraryError(
                f"this library was made with the bundle {row.name} ({row.fingerprint[:12]}), not with the one named; "
                "embeddings of two bundles cannot be compared",
                where=str(self._database.path.parent),
                remedy=f"Leave --model out, or move the library over: seetell library reindex --model {self.named}",
            )

    @cached_property
    def _named_fingerprint(self) -> str:
        assert self.named is not None
        return read_manifest(self.named).fingerprint

    @property
    def model(self) -> Model:
        """The model in use; after a reindex, by whomever, the new one."""
        row = self.settle()
        with self._lock:
            if self._suite is None or self._fingerprint != row.fingerprint:
                if self._suite is not None:
                    self._old.append(self._suite)  # another thread may be using it
                self._suite = Model(Bundle.open(self._place(row)), threads=self._threads)
                self._fingerprint = row.fingerprint
            return self._suite

    def _place(self, row: BundleRow) -> Path:
        candidates = [self.named, Path(row.place), *(place.path for place in installed())]
        for place in candidates:
            with contextlib.suppress(SeetellError):
                if place is not None and read_manifest(place).fingerprint == row.fingerprint:
                    return place
        raise LibraryError(
            f"the bundle that this library was made with is not there any more: {row.name} ({row.fingerprint[:12]})",
            where=row.place,
            remedy="Put it back, name it with --model, or move the library to another one: seetell library reindex --model NAME",
        )

    def close(self) -> None:
        with self._lock:
            for model in (*self._old, *([self._suite] if self._suite else [])):
                model.close()
            self._suite = None
