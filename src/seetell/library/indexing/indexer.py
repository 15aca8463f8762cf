"""Keeps a library up to date: updates, reindexes and watching, one at a time on the whole machine."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial

from seetell.bundle import find_bundle, read_manifest
from seetell.library.current_model import CurrentModel, supersedes
from seetell.library.indexing.describing import describe_files
from seetell.library.indexing.messages import Described, PendingFile
from seetell.library.indexing.reindex import reindex
from seetell.library.indexing.stages import Describe
from seetell.library.indexing.update import update
from seetell.library.records import AlertMatch, Report
from seetell.library.search.searcher import Searcher
from seetell.library.search.vector_index import VectorIndex
from seetell.library.storage import folders as indexed_folders
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.library.storage.lock import index_lock
from seetell.progress import Progress
from seetell.runtime import open_model

AnyPath = str | os.PathLike[str]


class Indexer:
    """Updates a library.

    Args:
        database: of the library.
        model: describes new images.
        index: of the embeddings, kept up to date.
        searcher: its relevance is kept calibrated.
        rebuilt: what was recovered of a damaged database when the library was opened, for reports.
    """

    def __init__(
        self, database: Database, model: CurrentModel, index: VectorIndex, searcher: Searcher, rebuilt: str = ""
    ) -> None:
        self._database, self._model, self._index, self._searcher = database, model, index, searcher
        self._rebuilt = rebuilt

    def update(
        self, folders: Sequence[AnyPath] | None, progress: Progress, stop: threading.Event, ray: str | None
    ) -> Report:
        """Index what is new or changed in folders, and forget what is gone; see `Library.update`."""
        start = time.monotonic()
        with index_lock(self._database.folder):
            row = self._model.settle()
            self._index.check_supported(row.fingerprint, row.similarity)
            with self._database.write() as connection:
                if folders is None:
                    roots = indexed_folders.all_folders(connection)
                else:
                    roots = indexed_folders.add(connection, folders)
            describe: Describe = self._describe
            if ray is not None:
                from seetell.library.remote.ray import ray_describer

                describe = ray_describer(self._model, ray, stop)
            report = update(self._database, roots, describe, progress, stop, self._index.after_batch)
            self._after_change(progress, stop)
        report.rebuilt, report.seconds = self._rebuilt, time.monotonic() - start
        return report

    def reindex(self, model: AnyPath, progress: Progress, stop: threading.Event) -> Report:
        """Move the library to another model; see `Library.reindex`."""
        start = time.monotonic()
        path = find_bundle(model)
        manifest = read_manifest(path)
        with index_lock(self._database.folder):
            head = manifest.retriever
            self._index.check_supported(manifest.fingerprint, head.similarity if head else None)
            with self._database.write() as connection:
                current = rows.current_model(connection)
                if current is not None and supersedes(manifest, current.fingerprint):
                    rows.replace_model(connection, current.id, manifest, os.path.abspath(path))
            with open_model(path) as opened:
                prepare = partial(self._index.prepare_next_model, progress, stop)
                report = reindex(self._database, opened, progress, stop, prepare)
            if not report.stopped:
                self._model.forget_named()
                self._after_change(progress, stop)
        report.seconds = time.monotonic() - start
        return report

    def watch(
        self, folders: Sequence[AnyPath], alerts: Sequence[str], every: float, stop: threading.Event, progress: Progress
    ) -> Iterator[AlertMatch | Report]:
        """Update again and again until `stop` is set; see `Library.watch`."""
        with self._database.read() as connection:
            indexed = set(indexed_folders.all_folders(connection))
        first = any(os.path.abspath(os.path.expanduser(os.fspath(each))) not in indexed for each in folders)
        while not stop.is_set():
            report = self.update(folders, progress, stop, None)
            for text in alerts if report.indexed_ids and not first else ():
                results = self._searcher.search(text, k=len(report.indexed_ids), among=report.indexed_ids)
                yield from (AlertMatch(hit.image, text, hit.relevance) for hit in results.matching)
            first = False
            if report.changed:
                yield report
            stop.wait(every)

    def forget(self, folder: AnyPath) -> int:
        """Remove a folder from the library; see `Library.forget`."""
        with index_lock(self._database.folder), self._database.write() as connection:
            return indexed_folders.forget(connection, folder)

    def _describe(self, files: Iterator[PendingFile]) -> Iterator[Described]:
        with self._model.use() as model:
            yield from describe_files(model, files)

    def _after_change(self, progress: Progress, stop: threading.Event) -> None:
        if not stop.is_set():
            self._index.refresh(progress, stop)
            self._searcher.recalibrate()
