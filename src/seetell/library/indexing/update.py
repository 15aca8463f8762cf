"""Bringing a library up to date: what is new is told and written in whole batches, what is gone is forgotten."""

import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from seetell.library.indexing.pending import PendingFile
from seetell.library.indexing.scan import Scan, is_below, scan
from seetell.library.records import Problem, Report
from seetell.library.storage import edits, store
from seetell.library.storage.database import Database
from seetell.progress import Progress, Task
from seetell.runtime import Description, Model

BATCH = 64  # images written at once,
SECONDS = 2.0  # or as many as were told in this time

# If nothing is new, no model is loaded.
OpensModel = Callable[[], Model]
# Results in the order of the images; it may end early if it was told to stop.
Describes = Callable[[Iterator[PendingFile]], Iterator[Description]]


def update(
    database: Database,
    open_model: OpensModel,
    folders: Sequence[str],
    progress: Progress,
    stop: threading.Event,
    describe: Describes | None = None,
    keep_up: Callable[[], None] = lambda: None,
) -> Report:
    """Make the library say what is in these folders; the caller holds the lock.

    Args:
        describe: who describes new images, if not the model in this process.
        keep_up: called after each batch that was written.
    """
    report = Report()
    there = [folder for folder in folders if os.path.isdir(folder)]
    found = scan(there, stop)
    for folder in folders:
        if folder not in there:
            found.unlisted.append(folder)
            found.problems.append(Problem(folder, "this folder is not there; what is known of it is kept"))
    if stop.is_set():
        report.stopped = True
        return report
    with database.read() as connection:
        known = _known(connection, folders)
        bundle = store.bundle_row(connection)
    assert bundle is not None
    _keep_what_may_come_back(found, known, there)
    todo = sorted(path for path, now in found.files.items() if known.get(path, (0, 0, None))[:2] != now)
    report.unchanged = len(found.files) - len(todo)
    report.problems += found.problems
    if todo:
        with progress.task("Indexing", total=len(todo), unit="images") as task:
            _Telling(database, open_model, bundle.id, report, task, stop, describe, keep_up).run(todo)
    report.stopped = stop.is_set()
    if not report.stopped:
        gone = [
            path for path in known if path not in found.files and not any(is_below(path, f) for f in found.unlisted)
        ]
        report.forgotten = _forget(database, gone)
    with database.read() as connection:
        (report.unreadable,) = connection.execute("SELECT count(*) FROM files WHERE image IS NULL").fetchone()
    return report


@dataclass
class _Telling:
    """New files on their way through the models."""

    database: Database
    open_model: OpensModel
    bundle: int
    report: Report
    task: Task
    stop: threading.Event
    describe: Describes | None
    keep_up: Callable[[], None]
    under_way: deque[PendingFile] = field(default_factory=deque)
    same: dict[bytes, list[PendingFile]] = field(default_factory=dict)  # files of what is under way, by content
    done: list[tuple[PendingFile, Description]] = field(default_factory=list)
    linked: list[tuple[PendingFile, int]] = field(default_factory=list)
    unreadable: list[tuple[PendingFile, str]] = field(default_factory=list)
    written: float = field(default_factory=time.monotonic)

    def run(self, paths: Sequence[str]) -> None:
        fresh = self._fresh(paths)
        try:
            # Only known images, moved or copied, need no model: it is opened with the first that is new.
            first = next(fresh, None)
            if first is not None:
                describe = self.describe or self.open_model().describe
                for said in describe(_chained(first, fresh)):
                    self.done.append((self.under_way.popleft(), said))
                    if len(self.done) >= BATCH or time.monotonic() - self.written > SECONDS:
                        self._write()
                        self.keep_up()
        except BaseException:
            with contextlib.suppress(Exception):  # what is told already is kept, if that can be
                self._write()
            raise
        self._write()

    def _fresh(self, paths: Sequence[str]) -> Iterator[PendingFile]:
        """Images that are not known yet; what is known, or cannot be read, is put aside on the way."""
        at_least = 0
        for path in paths:
            if self.stop.is_set():
                return
            file = PendingFile(path, at_least)
            try:
                file.take_hash()
            except FileNotFoundError:  # gone since it was listed
                self.task.advance()
                continue
            except OSError as error:
                with contextlib.suppress(OSError):
                    status = os.stat(path)
                    file.size, file.mtime = status.st_size, status.st_mtime_ns
                    self.unreadable.append((file, f"it cannot be read ({error.strerror or error})"))
                self.task.advance()
                continue
            if file.hash in self.same:
                self.same[file.hash].append(file)
                continue
            known = self._known(file.hash)
            if known is not None:
                self.linked.append((file, known))
                if len(self.linked) >= 8 * BATCH:
                    self._write()
                continue
            at_least = file.at_least = at_least or self.open_model().preparation.resize
            self.same[file.hash] = [file]
            self.under_way.append(file)
            yield file

    def _known(self, digest: bytes) -> int | None:
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT p.id FROM images p JOIN told t ON t.image = p.id AND t.bundle = ? WHERE p.hash = ?",
                (self.bundle, digest),
            ).fetchone()
        return None if row is None else int(row[0])

    def _write(self) -> None:
        """Everything that is finished, in one transaction."""
        self.written = time.monotonic()
        done, linked, unreadable = self.done, self.linked, self.unreadable
        if not (done or linked or unreadable):
            return
        self.done, self.linked, self.unreadable = [], [], []
        told: list[int] = []
        files = 0
        with self.database.write() as connection:
            for file, said in done:
                files += self._add(connection, file, said, told)
            for file, number in linked:
                store.add_file(connection, file.path, file.size, file.mtime, number)
            for file, reason in unreadable:
                store.add_file(connection, file.path, file.size, file.mtime, None, reason)
            store.refresh(connection, told)
        for file, _ in done:
            self.same.pop(file.hash, None)
        self.report.new += told
        self.report.told += len(told)
        self.report.linked += len(linked) + files
        self.report.problems += [Problem(file.path, reason) for file, reason in unreadable]
        note = f"{len(self.report.problems)} unreadable" if self.report.problems else None
        self.task.advance(len(done) + len(linked) + files, note=note)

    def _add(self, connection: sqlite3.Connection, file: PendingFile, said: Description, told: list[int]) -> int:
        """Write one image with all its files; how many there are beside the first."""
        files = self.same[file.hash]
        if said.error is not None or file.facts is None:
            reason = said.error.problem if said.error is not None else "it cannot be read"
            for each in files:
                if os.path.lexists(each.path):  # not one that was deleted while it was read
                    store.add_file(connection, each.path, each.size, each.mtime, None, reason)
                    self.report.problems.append(Problem(each.path, reason))
            return len(files) - 1
        folder = self.database.path.parent
        edits.follow(folder, connection, [each.path for each in files], file.hash, file.facts.look)
        number = store.add_image(connection, file.hash, file.facts)
        store.add_told(connection, number, self.bundle, said)
        for each in files:
            store.add_file(connection, each.path, each.size, each.mtime, number)
        told.append(number)
        return len(files) - 1


def _known(connection: sqlite3.Connection, folders: Sequence[str]) -> dict[str, tuple[int, int, int | None]]:
    known: dict[str, tuple[int, int, int | None]] = {}
    for folder in folders:
        inside, ends = store.below(folder)
        for path, size, mtime, image in connection.execute(
            f"SELECT path, size, mtime, image FROM files WHERE {inside}", ends
        ):
            known[os.fsdecode(path)] = (size, mtime, image)
    return known


def _keep_what_may_come_back(found: Scan, known: dict[str, tuple[int, int, int | None]], there: Sequence[str]) -> None:
    """A folder that lost all its images at once is more likely a disk that is not there than a decision."""
    for folder in there:
        before = sum(is_below(path, folder) for path in known)
        if before > 1 and not any(is_below(path, folder) for path in found.files):
            found.unlisted.append(folder)
            found.problems.append(
                Problem(
                    folder,
                    f"all {before} images of this folder are gone; they are kept in the library "
                    "(`seetell library forget` lets them go)",
                )
            )


def _forget(database: Database, paths: Sequence[str]) -> int:
    with database.write() as connection:
        store.forget_files(connection, paths)
        store.forget_orphans(connection)
    return len(paths)


def _chained(first: PendingFile, rest: Iterator[PendingFile]) -> Iterator[PendingFile]:
    yield first
    yield from rest
