"""Bringing a library up to date: what is new is told and written in whole batches, what is gone is forgotten."""

import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from seetell.library import edits, store
from seetell.library.database import Database
from seetell.library.files import PictureToTell
from seetell.library.records import Problem, Report
from seetell.library.scan import Scan, is_below, scan
from seetell.progress import Progress, Task
from seetell.runtime import Described, Suite

BATCH = 64  # pictures written at once,
SECONDS = 2.0  # or as many as were told in this time

# If nothing is new, no model is loaded.
OpensSuite = Callable[[], Suite]
# Results in the order of the pictures; it may end early if it was told to stop.
Describes = Callable[[Iterator[PictureToTell]], Iterator[Described]]


def update(
    database: Database,
    open_suite: OpensSuite,
    folders: Sequence[str],
    progress: Progress,
    stop: threading.Event,
    describe: Describes | None = None,
    keep_up: Callable[[], None] = lambda: None,
) -> Report:
    """Make the library say what is in these folders; the caller holds the lock.

    Args:
        describe: who describes new pictures, if not the suite in this process.
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
        with progress.task("Indexing", total=len(todo), unit="pictures") as task:
            _Telling(database, open_suite, bundle.id, report, task, stop, describe, keep_up).run(todo)
    report.stopped = stop.is_set()
    if not report.stopped:
        gone = [
            path for path in known if path not in found.files and not any(is_below(path, f) for f in found.unlisted)
        ]
        report.forgotten = _forget(database, gone)
    with database.read() as connection:
        (report.unreadable,) = connection.execute("SELECT count(*) FROM files WHERE picture IS NULL").fetchone()
    return report


@dataclass
class _Telling:
    """New files on their way through the models."""

    database: Database
    open_suite: OpensSuite
    bundle: int
    report: Report
    task: Task
    stop: threading.Event
    describe: Describes | None
    keep_up: Callable[[], None]
    under_way: deque[PictureToTell] = field(default_factory=deque)
    same: dict[bytes, list[PictureToTell]] = field(default_factory=dict)  # files of what is under way, by content
    done: list[tuple[PictureToTell, Described]] = field(default_factory=list)
    linked: list[tuple[PictureToTell, int]] = field(default_factory=list)
    unreadable: list[tuple[PictureToTell, str]] = field(default_factory=list)
    written: float = field(default_factory=time.monotonic)

    def run(self, paths: Sequence[str]) -> None:
        fresh = self._fresh(paths)
        try:
            # Only known pictures, moved or copied, need no suite: it is opened with the first that is new.
            first = next(fresh, None)
            if first is not None:
                describe = self.describe or self.open_suite().describe
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

    def _fresh(self, paths: Sequence[str]) -> Iterator[PictureToTell]:
        """Pictures that are not known yet; what is known, or cannot be read, is put aside on the way."""
        at_least = 0
        for path in paths:
            if self.stop.is_set():
                return
            file = PictureToTell(path, at_least)
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
            at_least = file.at_least = at_least or self.open_suite().preparation.resize
            self.same[file.hash] = [file]
            self.under_way.append(file)
            yield file

    def _known(self, digest: bytes) -> int | None:
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT p.id FROM pictures p JOIN told t ON t.picture = p.id AND t.bundle = ? WHERE p.hash = ?",
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

    def _add(self, connection: sqlite3.Connection, file: PictureToTell, said: Described, told: list[int]) -> int:
        """Write one picture with all its files; how many there are beside the first."""
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
        number = store.add_picture(connection, file.hash, file.facts)
        store.add_told(connection, number, self.bundle, said)
        for each in files:
            store.add_file(connection, each.path, each.size, each.mtime, number)
        told.append(number)
        return len(files) - 1


def _known(connection: sqlite3.Connection, folders: Sequence[str]) -> dict[str, tuple[int, int, int | None]]:
    known: dict[str, tuple[int, int, int | None]] = {}
    for folder in folders:
        inside, ends = store.below(folder)
        for path, size, mtime, picture in connection.execute(
            f"SELECT path, size, mtime, picture FROM files WHERE {inside}", ends
        ):
            known[os.fsdecode(path)] = (size, mtime, picture)
    return known


def _keep_what_may_come_back(found: Scan, known: dict[str, tuple[int, int, int | None]], there: Sequence[str]) -> None:
    """A folder that lost all its pictures at once is more likely a disk that is not there than a decision."""
    for folder in there:
        before = sum(is_below(path, folder) for path in known)
        if before > 1 and not any(is_below(path, folder) for path in found.files):
            found.unlisted.append(folder)
            found.problems.append(
                Problem(
                    folder,
                    f"all {before} pictures of this folder are gone; they are kept in the library "
                    "(`seetell library forget` lets them go)",
                )
            )


def _forget(database: Database, paths: Sequence[str]) -> int:
    with database.write() as connection:
        store.forget_files(connection, paths)
        store.forget_orphans(connection)
    return len(paths)


def _chained(first: PictureToTell, rest: Iterator[PictureToTell]) -> Iterator[PictureToTell]:
    yield first
    yield from rest
