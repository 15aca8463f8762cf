"""Moves a library to another model: its predictions are stored next to the old ones, which are used until the end.

Stopped or killed, it resumes where it stopped when it is called again with the same model.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from seetell.files import Problem
from seetell.library.indexing.describing import describe_files
from seetell.library.indexing.messages import Described, Message, PendingFile, UnreadableFile
from seetell.library.indexing.reading import hash_file
from seetell.library.indexing.stages import Stages
from seetell.library.indexing.writer import BATCH
from seetell.library.records import LibraryImage, Report
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.progress import Progress, ProgressTask
from seetell.runtime import Model


def reindex(
    database: Database, model: Model, progress: Progress, stop: threading.Event, prepare: Callable[[], None]
) -> Report:
    """Describe every image with `model`, then change over in one transaction; the caller holds the library's lock.

    Args:
        prepare: called when all images are described, before the change.
    """
    report = Report()
    with database.write() as connection:
        before = rows.current_model(connection)
        model_id = rows.add_model(connection, model.manifest, os.path.abspath(model.bundle.path))
        if before is not None and before.id == model_id:
            rows.set_meta(connection, "next_model", "")
            _remove_other_models(connection, model_id)
            return report
        rows.set_meta(connection, "next_model", model_id)
        (total,) = connection.execute("SELECT count(*) FROM images").fetchone()
        query = "SELECT id FROM images WHERE id NOT IN (SELECT image FROM predictions WHERE model = ?) ORDER BY id"
        ids = [row[0] for row in connection.execute(query, (model_id,))]
    with progress.task("Reindexing", total=total, unit="images", skipped=total - len(ids)) as task:
        writer = _PredictionWriter(database, model_id, report, task)
        with Stages(unchanged_files(database, ids, stop), partial(describe_files, model), stop) as outcomes:
            for outcome in outcomes:
                writer.add(outcome)
        writer.write()
    if not stop.is_set():
        prepare()
    report.stopped = stop.is_set()
    if not report.stopped:
        report.removed = _change_over(database, model_id)
    return report


def unchanged_files(database: Database, ids: Sequence[int], stop: threading.Event) -> Iterator[Message]:
    """The producing stage: for each image, a file that still has its content."""
    for image_id in ids:
        if stop.is_set():
            return
        with database.read() as connection:
            image = rows.image(connection, image_id)
        file = _same_content(image)
        yield file or UnreadableFile(image.path, 0, 0, "it is missing or has changed, and must be indexed again")


class _PredictionWriter:
    """Writes the predictions of the new model, each batch in one transaction."""

    def __init__(self, database: Database, model: int, report: Report, task: ProgressTask) -> None:
        self._database, self._model, self._report, self._task = database, model, report, task
        self._described: list[Described] = []

    def add(self, outcome: object) -> None:
        if isinstance(outcome, UnreadableFile):
            self._add_problem(outcome.path, outcome.reason)
        elif isinstance(outcome, Described):
            if outcome.reason is not None:
                self._add_problem(outcome.file.path, outcome.reason)
            else:
                self._described.append(outcome)
        if len(self._described) >= BATCH:
            self.write()

    def write(self) -> None:
        described, self._described = self._described, []
        written = 0
        with self._database.write() as connection:
            for each in described:
                row = connection.execute("SELECT id FROM images WHERE hash = ?", (each.file.hash,)).fetchone()
                if row is not None:
                    rows.add_prediction(connection, row[0], self._model, each.description)
                    written += 1
        self._report.indexed += written
        self._task.advance(len(described))

    def _add_problem(self, path: str, reason: str) -> None:
        self._report.problems.append(Problem(path, reason))
        self._task.advance()


def _change_over(database: Database, model: int) -> int:
    """Use the new model from now on. Images that it could not read are removed, and are new when they are found again.

    Returns:
        How many files were removed.
    """
    with database.write() as connection:
        removed = connection.execute(
            "DELETE FROM files WHERE image NOT IN (SELECT image FROM predictions WHERE model = ?)", (model,)
        ).rowcount
        rows.set_meta(connection, "model", model)
        rows.set_meta(connection, "next_model", "")
        rows.set_meta(connection, "index", "")
        _remove_other_models(connection, model)
        rows.remove_orphans(connection)
        rows.refresh_all(connection, model)
    return int(removed)


def _remove_other_models(connection: rows.Connection, model: int) -> None:
    connection.execute("DELETE FROM predictions WHERE model != ?", (model,))
    connection.execute("DELETE FROM models WHERE id != ?", (model,))


def _same_content(image: LibraryImage) -> PendingFile | None:
    for path in image.files:
        try:
            file = hash_file(path)
        except OSError:
            continue
        if file.hash.hex() == image.hash:
            return file
    return None
