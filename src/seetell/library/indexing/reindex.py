"""A library moves to another bundle: the new embeddings are made beside the old ones, which serve until all are there.

Stopped or killed, it goes on where it was when it is called again with the same bundle.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator

from seetell.library.indexing.pending import PendingFile
from seetell.library.indexing.update import BATCH
from seetell.library.records import LibraryImage, Problem, Report
from seetell.library.storage import store
from seetell.library.storage.database import Database
from seetell.progress import Progress
from seetell.runtime import Description, Model


def move(
    database: Database, model: Model, progress: Progress, stop: threading.Event, prepare: Callable[[], None]
) -> Report:
    """Tell every image with `model`, and then change over in one step; the caller holds the lock. `prepare` is called
    before that step, when all is told."""
    report = Report()
    with database.write() as connection:
        before = store.bundle_row(connection)
        number = store.add_bundle(connection, model.manifest, os.path.abspath(model.bundle.path))
        if before is not None and before.id == number:
            store.set_meta(connection, "coming", "")
            _drop_others(connection, number)
            return report
        store.set_meta(connection, "coming", number)
        total = connection.execute("SELECT count(*) FROM images").fetchone()[0]
        todo = [
            row[0]
            for row in connection.execute(
                "SELECT id FROM images WHERE id NOT IN (SELECT image FROM told WHERE bundle = ?) ORDER BY id",
                (number,),
            )
        ]
    under_way: deque[tuple[LibraryImage, PendingFile]] = deque()

    def source() -> Iterator[PendingFile]:
        for each in todo:
            if stop.is_set():
                return
            with database.read() as connection:
                image = store.image(connection, each)
            file = _same_content(image, model.preparation.resize)
            if file is None:
                report.problems.append(Problem(image.path, "it is not there, or has changed, and must be indexed anew"))
                task.advance()
                continue
            under_way.append((image, file))
            yield file

    done: list[tuple[LibraryImage, Description]] = []
    with progress.task("Reindexing", total=total, unit="images", skipped=total - len(todo)) as task:
        for said in model.describe(source()):
            image, _ = under_way.popleft()
            if said.error is None:
                done.append((image, said))
            else:
                report.problems.append(Problem(image.path, said.error.problem))
                task.advance()
            if len(done) >= BATCH:
                task.advance(_write(database, number, done, report))
        task.advance(_write(database, number, done, report))
    if not stop.is_set():
        prepare()
    report.stopped = stop.is_set()
    if not report.stopped:
        report.forgotten = _change_over(database, number)
    return report


def _write(database: Database, number: int, done: list[tuple[LibraryImage, Description]], report: Report) -> int:
    with database.write() as connection:
        for image, said in done:
            store.add_told(connection, image.id, number, said)
    count = len(done)
    report.told += count
    done.clear()
    return count


def _change_over(database: Database, number: int) -> int:
    """From one moment to the next, everything is the new bundle's. Images that it could not see are let go, and are
    new when they are found again."""
    with database.write() as connection:
        gone = connection.execute(
            "DELETE FROM files WHERE image NOT IN (SELECT image FROM told WHERE bundle = ?)", (number,)
        ).rowcount
        store.set_meta(connection, "bundle", number)
        store.set_meta(connection, "coming", "")
        store.set_meta(connection, "index", "")
        _drop_others(connection, number)
        store.forget_orphans(connection)
        ids = [row[0] for row in connection.execute("SELECT id FROM images")]
        for begin in range(0, len(ids), 1_000):
            store.refresh(connection, ids[begin : begin + 1_000], number)
    return int(gone)


def _drop_others(connection: store.Connection, number: int) -> None:
    connection.execute("DELETE FROM told WHERE bundle != ?", (number,))
    connection.execute("DELETE FROM bundles WHERE id != ?", (number,))


def _same_content(image: LibraryImage, at_least: int) -> PendingFile | None:
    for path in image.files:
        file = PendingFile(path, at_least)
        try:
            file.take_hash()
        except OSError:
            continue
        if file.hash.hex() == image.hash:
            return file
    return None
