"""Brings a library up to date with its folders: scan, describe what is new, forget what is gone."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence

from seetell.files import Problem, Scan, is_below, scan
from seetell.images import is_image_name
from seetell.library.indexing.messages import KnownFile, Message, SameContent, UnreadableFile, VanishedFile
from seetell.library.indexing.reading import hash_file
from seetell.library.indexing.stages import Describe, Stages
from seetell.library.indexing.writer import Writer
from seetell.library.records import Report
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.progress import Progress

KnownFiles = dict[str, tuple[int, int]]  # size and modification time by path


def update(
    database: Database,
    folders: Sequence[str],
    describe: Describe,
    progress: Progress,
    stop: threading.Event,
    after_batch: Callable[[], None] = lambda: None,
) -> Report:
    """Make the library reflect what is in these folders; the caller holds the library's lock.

    Args:
        describe: the describing stage; it is not called if nothing is new.
        after_batch: called after each batch that was written.
    """
    report = Report()
    present = [folder for folder in folders if os.path.isdir(folder)]
    found = scan(present, is_image_name, stop)
    for folder in folders:
        if folder not in present:
            found.unlisted.append(folder)
            found.problems.append(Problem(folder, "this folder is not there; its images are kept in the library"))
    if stop.is_set():
        report.stopped = True
        return report
    with database.read() as connection:
        known = _known_files(connection, folders)
        model = rows.current_model(connection)
    assert model is not None
    _keep_emptied_folders(found, known, present)
    changed = sorted(path for path, status in found.files.items() if known.get(path) != status)
    report.unchanged = len(found.files) - len(changed)
    report.problems += found.problems
    if changed:
        with progress.task("Indexing", total=len(changed), unit="images") as task:
            writer = Writer(database, model.id, report, task)
            _run(writer, hashed_files(database, model.id, changed, stop), describe, stop, after_batch)
    report.stopped = stop.is_set()
    if not report.stopped:
        report.removed = _remove_missing(database, found, known)
    with database.read() as connection:
        (report.unreadable,) = connection.execute("SELECT count(*) FROM files WHERE image IS NULL").fetchone()
    return report


def hashed_files(database: Database, model: int, paths: Sequence[str], stop: threading.Event) -> Iterator[Message]:
    """The producing stage: hashes files, and decides which of them have to be described."""
    sent: set[bytes] = set()  # contents that are being described, or have been
    for path in paths:
        if stop.is_set():
            return
        try:
            file = hash_file(path)
        except FileNotFoundError:
            yield VanishedFile(path)
            continue
        except OSError as error:
            yield _unreadable(path, f"it cannot be read ({error.strerror or error})")
            continue
        with database.read() as connection:
            image = rows.image_by_hash(connection, file.hash, model)
        if image is not None:
            yield KnownFile(file, image)
        elif file.hash in sent:
            yield SameContent(file)
        else:
            sent.add(file.hash)
            yield file


def _run(
    writer: Writer,
    messages: Iterator[Message],
    describe: Describe,
    stop: threading.Event,
    after_batch: Callable[[], None],
) -> None:
    try:
        with Stages(messages, describe, stop) as outcomes:
            for outcome in outcomes:
                if writer.add(outcome):
                    after_batch()
    except BaseException:
        with contextlib.suppress(Exception):  # keep what is described already, if possible
            writer.write()
        raise
    writer.write()


def _unreadable(path: str, reason: str) -> UnreadableFile | VanishedFile:
    try:
        status = os.stat(path)
    except OSError:
        return VanishedFile(path)
    return UnreadableFile(path, status.st_size, status.st_mtime_ns, reason)


def _known_files(connection: sqlite3.Connection, folders: Sequence[str]) -> KnownFiles:
    known: KnownFiles = {}
    for folder in folders:
        condition, bounds = rows.below(folder)
        found = connection.execute(f"SELECT path, size, mtime FROM files WHERE {condition}", bounds)
        known.update((os.fsdecode(path), (size, mtime)) for path, size, mtime in found)
    return known


def _keep_emptied_folders(found: Scan, known: KnownFiles, present: Sequence[str]) -> None:
    """A folder that lost all its images at once is more likely a disk that is not mounted than a decision."""
    for folder in present:
        before = sum(is_below(path, folder) for path in known)
        if before > 1 and not any(is_below(path, folder) for path in found.files):
            found.unlisted.append(folder)
            reason = (
                f"all {before} images of this folder are gone; they are kept in the library "
                "(`seetell library forget` removes them)"
            )
            found.problems.append(Problem(folder, reason))


def _remove_missing(database: Database, found: Scan, known: KnownFiles) -> int:
    missing = [path for path in known if path not in found.files and not any(is_below(path, f) for f in found.unlisted)]
    with database.write() as connection:
        rows.remove_files(connection, missing)
        rows.remove_orphans(connection)
    return len(missing)
