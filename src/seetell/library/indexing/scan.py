"""Which images are in folders: every file with an image's name, however deep, without opening any.

Links to folders are followed, each folder once, real ones first: so a loop ends, and an image that is reached on two
ways is listed under its real path. Hidden folders are left out: they hold thumbnails and rubbish bins.
"""

import os
import stat
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Event

from seetell.images import is_image_name
from seetell.library.records import Problem


@dataclass(slots=True)
class Scan:
    """What is there.

    Args:
        files: of each path its size and its time of change in nanoseconds.
        problems: links that lead nowhere, and folders that cannot be listed.
        unlisted: those folders: nothing can be said of what is below them.
    """

    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)


def scan(folders: Iterable[str], stop: Event | None = None) -> Scan:
    """List the images below `folders` (absolute paths)."""
    found = Scan()
    seen: set[tuple[int, int]] = set()
    real, linked = deque(folders), deque[str]()
    while (real or linked) and not (stop is not None and stop.is_set()):
        folder = real.popleft() if real else linked.popleft()
        try:
            status = os.stat(folder)
            # Some network disks number nothing: there a path stands for itself.
            key = (status.st_dev, status.st_ino) if status.st_ino else (0, hash(os.path.realpath(folder)))
            if key in seen:
                continue
            seen.add(key)
            with os.scandir(folder) as entries:
                for entry in entries:
                    _look(entry, found, real, linked)
        except OSError as error:
            found.unlisted.append(folder)
            found.problems.append(Problem(folder, f"this folder cannot be read ({error.strerror or error})"))
    return found


def _look(entry: os.DirEntry[str], found: Scan, real: deque[str], linked: deque[str]) -> None:
    try:
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith("."):
                real.append(entry.path)
        elif entry.is_symlink() and entry.is_dir():
            linked.append(entry.path)
        elif is_image_name(entry.name):
            status = entry.stat()
            if stat.S_ISREG(status.st_mode):
                found.files[entry.path] = (status.st_size, status.st_mtime_ns)
    except FileNotFoundError:
        if is_image_name(entry.name) and entry.is_symlink():
            found.problems.append(Problem(entry.path, "this link leads nowhere"))
    except OSError as error:
        found.problems.append(Problem(entry.path, f"it cannot be looked at ({error.strerror or error})"))
        found.unlisted.append(entry.path)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder's, or lies in it."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)
