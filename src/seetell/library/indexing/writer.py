"""The last stage of indexing: writes outcomes to the database in whole batches."""

import os
import sqlite3
import time

from seetell.files import Problem
from seetell.library.indexing.messages import (
    Described,
    KnownFile,
    Outcome,
    PendingFile,
    SameContent,
    UnreadableFile,
)
from seetell.library.records import Report
from seetell.library.storage import edits, rows
from seetell.library.storage.database import Database
from seetell.progress import ProgressTask

BATCH = 64  # images in a transaction,
SECONDS = 2.0  # or those that were described in this time
FILES = 8 * BATCH  # files in a transaction


class Writer:
    """Collects outcomes and writes them, each batch in one transaction.

    Args:
        database: of the library.
        model: the id of the model that describes the images.
        report: counts what was written.
        task: is advanced by what was written.
    """

    def __init__(self, database: Database, model: int, report: Report, task: ProgressTask) -> None:
        self._database, self._model, self._report, self._task = database, model, report, task
        self._described: list[Described] = []
        self._known: list[KnownFile] = []
        self._unreadable: list[UnreadableFile] = []
        self._same: dict[bytes, list[PendingFile]] = {}  # files that wait for another with their content
        self._failed: dict[bytes, str | None] = {}  # contents that cannot be read, and why
        self._vanished = 0  # files of which nothing is written
        self._written = time.monotonic()

    def add(self, outcome: Outcome) -> bool:
        """Take an outcome; returns whether a batch was written."""
        if isinstance(outcome, Described):
            self._described.append(outcome)
        elif isinstance(outcome, KnownFile):
            self._known.append(outcome)
        elif isinstance(outcome, SameContent):
            self._same.setdefault(outcome.file.hash, []).append(outcome.file)
        elif isinstance(outcome, UnreadableFile):
            self._unreadable.append(outcome)
        else:
            self._vanished += 1
        late = bool(self._described or self._known) and time.monotonic() - self._written > SECONDS
        if len(self._described) >= BATCH or len(self._known) + len(self._unreadable) >= FILES or late:
            self.write()
            return True
        return False

    def write(self) -> None:
        """Write everything that is finished, in one transaction."""
        self._written = time.monotonic()
        described, known, unreadable = self._described, self._known, self._unreadable
        self._described, self._known, self._unreadable = [], [], []
        if not (described or known or unreadable or self._same or self._vanished):
            return
        indexed: list[int] = []
        with self._database.write() as connection:
            for each in described:
                if each.reason is None:
                    indexed.append(self._add_image(connection, each))
                else:
                    unreadable += self._refuse(each.file, each.reason)
            linked = self._linked(connection)
            unreadable += self._refused()
            for link in (*known, *linked):
                rows.add_file(connection, link.file.path, link.file.size, link.file.mtime, link.image)
            for bad in unreadable:
                rows.add_file(connection, bad.path, bad.size, bad.mtime, None, bad.reason)
            rows.refresh(connection, list(dict.fromkeys([*indexed, *(link.image for link in linked)])))
        self._count(indexed, len(known) + len(linked), unreadable)

    def _add_image(self, connection: sqlite3.Connection, described: Described) -> int:
        file, facts = described.file, described.facts
        assert facts is not None
        edits.carry_over(self._database.folder, connection, file.path, file.hash, facts.dhash)
        image = rows.add_image(connection, file.hash, facts)
        rows.add_prediction(connection, image, self._model, described.description)
        rows.add_file(connection, file.path, file.size, file.mtime, image)
        return image

    def _linked(self, connection: sqlite3.Connection) -> list[KnownFile]:
        """The files with the content of an image that has been written; the others keep waiting."""
        found: list[KnownFile] = []
        for digest in list(self._same):
            image = rows.image_by_hash(connection, digest, self._model)
            if image is None:
                continue
            (dhash,) = connection.execute("SELECT dhash FROM images WHERE id = ?", (image,)).fetchone()
            for file in self._same.pop(digest):
                edits.carry_over(self._database.folder, connection, file.path, digest, dhash)
                found.append(KnownFile(file, image))
        return found

    def _refuse(self, file: PendingFile, reason: str) -> list[UnreadableFile]:
        """A file that could not be read, unless it was deleted meanwhile."""
        try:
            status = os.lstat(file.path)
        except OSError:
            self._failed[file.hash] = None
            self._vanished += 1
            return []
        # What was found in a file that has changed since says nothing about others with its former content.
        unchanged = (status.st_size, status.st_mtime_ns) == (file.size, file.mtime)
        self._failed[file.hash] = reason if unchanged else None
        return [UnreadableFile(file.path, file.size, file.mtime, reason)]

    def _refused(self) -> list[UnreadableFile]:
        """The files with a content that could not be read; those that might be are left for the next update."""
        found: list[UnreadableFile] = []
        for digest in self._same.keys() & self._failed.keys():
            reason, files = self._failed[digest], self._same.pop(digest)
            if reason is None:
                self._vanished += len(files)
            else:
                found += [UnreadableFile(file.path, file.size, file.mtime, reason) for file in files]
        return found

    def _count(self, indexed: list[int], moved: int, unreadable: list[UnreadableFile]) -> None:
        report = self._report
        report.indexed += len(indexed)
        report.indexed_ids += indexed
        report.moved += moved
        report.problems += [Problem(bad.path, bad.reason) for bad in unreadable]
        note = f"{len(report.problems)} unreadable" if report.problems else None
        self._task.advance(len(indexed) + moved + len(unreadable) + self._vanished, note=note)
        self._vanished = 0
