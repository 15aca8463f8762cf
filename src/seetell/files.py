"""Files: written atomically, found in folders, hashed, and rows that are safe in a spreadsheet."""

import contextlib
import csv
import hashlib
import io
import os
import secrets
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import IO

from seetell.errors import SeetellError

AnyPath = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(path: AnyPath, *, sync: bool = False, error: type[SeetellError] = SeetellError) -> Iterator[Path]:
    """A new file for `path`: write to the path that is yielded; it takes the place of `path` when the block succeeds.

    After a kill at any moment there is the old file or the new one, never a part of either.

    Args:
        sync: make sure that the data has reached the disk before the old file goes.
        error: which kind of `SeetellError` to raise when it cannot be written.
    """
    target = Path(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        if sync:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as problem:
        raise error(f"this file cannot be written: {problem.strerror or problem}", where=str(target)) from problem
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def write_file(
    path: AnyPath, data: str | bytes, *, sync: bool = False, error: type[SeetellError] = SeetellError
) -> None:
    """Write a whole file atomically; text is UTF-8."""
    with replacing(path, sync=sync, error=error) as part:
        part.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


def content_hash(data: bytes) -> bytes:
    """The 16 bytes by which content is known: BLAKE2b of a file's bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


def stream_hash(file: IO[bytes]) -> bytes:
    """`content_hash` of an open binary file, which is read to its end in chunks."""
    digest = hashlib.blake2b(digest_size=16)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.digest()


_CHUNK = 1 << 20


def csv_row(values: Sequence[object], *, end: str = "") -> str:
    """One CSV row. Text that a spreadsheet would run as a formula gets an apostrophe in front.

    Example:
        >>> csv_row(["=1+1", "-dog", 3])
        "'=1+1,'-dog,3"
    """
    safe = [f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value for value in values]
    line = io.StringIO()
    csv.writer(line, lineterminator=end).writerow(safe)
    return line.getvalue()


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or folder that cannot be read, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class Scan:
    """The files found in folders.

    Args:
        files: the size and the modification time in nanoseconds of each path.
        problems: broken links, and folders that cannot be listed.
        unlisted: those folders; nothing is known of what is below them.
    """

    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)


def scan(folders: Iterable[str], wanted: Callable[[str], bool], stop: Event | None = None) -> Scan:
    """Find the files below folders whose names are wanted, without opening any.

    Links to folders are followed, each folder once, real folders first: a loop ends, and a file that can be reached in
    two ways is listed under its real path. Hidden folders (thumbnails, recycle bins) are skipped.

    Args:
        folders: paths of folders; found paths start with them.
        wanted: decides by file name.
        stop: when set, the scan ends early.
    """
    found = Scan()
    seen: set[tuple[int, int]] = set()
    real, linked = deque(folders), deque[str]()
    while (real or linked) and not (stop is not None and stop.is_set()):
        folder = real.popleft() if real else linked.popleft()
        try:
            status = os.stat(folder)
            # Some network drives have no inode numbers: there the path identifies the folder.
            key = (status.st_dev, status.st_ino) if status.st_ino else (0, hash(os.path.realpath(folder)))
            if key in seen:
                continue
            seen.add(key)
            with os.scandir(folder) as entries:
                for entry in entries:
                    _scan_entry(entry, wanted, found, real, linked)
        except OSError as error:
            found.unlisted.append(folder)
            found.problems.append(Problem(folder, f"this folder cannot be read ({error.strerror or error})"))
    return found


def _scan_entry(
    entry: os.DirEntry[str], wanted: Callable[[str], bool], found: Scan, real: deque[str], linked: deque[str]
) -> None:
    try:
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith("."):
                real.append(entry.path)
        elif entry.is_symlink() and entry.is_dir():
            linked.append(entry.path)
        elif wanted(entry.name):
            status = entry.stat()
            if stat.S_ISREG(status.st_mode):
                found.files[entry.path] = (status.st_size, status.st_mtime_ns)
    except FileNotFoundError:
        if wanted(entry.name) and entry.is_symlink():
            found.problems.append(Problem(entry.path, "broken link"))
    except OSError as error:
        found.problems.append(Problem(entry.path, f"cannot be read ({error.strerror or error})"))
        found.unlisted.append(entry.path)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder itself or lies below it."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)
