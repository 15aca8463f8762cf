"""The files of a dataset's folder, listed in one walk, and found by the names that annotations use."""

import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from seetell.errors import DatasetError
from seetell.images import IMAGE_SUFFIXES

_IMAGES = tuple(IMAGE_SUFFIXES)
_LITTER = ("__MACOSX",)


class Folder:
    """The files below a folder, by name; hidden files and folders are skipped.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise DatasetError("there is no such folder", where=str(root))
        self.root = root
        self._full = Path(os.path.abspath(root)).as_posix().rstrip("/")
        self.images = 0  # by suffix; none is opened
        self._parents: dict[str, list[str]] = {}  # a file's name → the folders that hold one, relative to the root
        self._loose: dict[str, list[tuple[str, str]]] | None = None
        self._folders: list[str] = []
        most = -1
        self._fullest = ""  # the folder with the most images
        for parent, names in _walk(root):
            self._folders.append(parent)
            images = 0
            for name in names:
                self._parents.setdefault(name, []).append(parent)
                images += name.lower().endswith(_IMAGES)
            self.images += images
            if images > most:
                most, self._fullest = images, parent

    def matches(self, written: str) -> list[Path]:
        """The files that a table may mean by `written`, the most likely first.

        A file with exactly this path is the only match. Otherwise, every file whose full path ends with `written`
        matches: a bare name in any subfolder, `images/a.jpg` below a root that is itself called `images`. If there is
        none, case and the composition of accents are ignored.
        """
        parent, _, name = normalise_path(written).rpartition("/")
        parents = self._parents.get(name, [])
        if parent in parents:
            return [self._path(parent, name)]
        found = [(folder, name) for folder in parents if self._ends(folder, parent)]
        if not found:
            found = [
                (folder, actual) for folder, actual in self._loosely(name) if self._ends(folder, parent, exactly=False)
            ]
        return [self._path(*each) for each in sorted(found, key=lambda each: (each[0].count("/"), each))]

    def expected(self, written: str) -> Path:
        """The path where a missing image is expected: in the folder that is written, or else with most other images."""
        parent, _, name = normalise_path(written).rpartition("/")
        if not parent:
            return self._path(self._fullest, name)
        return self._path(next((folder for folder in self._folders if self._ends(folder, parent)), parent), name)

    def named(self, pattern: re.Pattern[str]) -> list[Path]:
        """The files whose whole name matches, those nearest to the root first."""
        found = [
            (parent.count("/") + bool(parent), parent, name)
            for name, parents in self._parents.items()
            if pattern.fullmatch(name)
            for parent in parents
        ]
        return [self._path(parent, name) for _, parent, name in sorted(found)]

    def _path(self, parent: str, name: str) -> Path:
        return Path(os.path.join(self.root, parent, name))

    def _ends(self, folder: str, parent: str, *, exactly: bool = True) -> bool:
        if not parent:
            return True
        whole = f"{self._full}/{folder}".rstrip("/")
        return whole.endswith(f"/{parent}") if exactly else _fold(whole).endswith(f"/{_fold(parent)}")

    def _loosely(self, name: str) -> list[tuple[str, str]]:
        if self._loose is None:  # built for the first name without an exact match
            self._loose = {}
            for actual, parents in self._parents.items():
                self._loose.setdefault(_fold(actual), []).extend((parent, actual) for parent in parents)
        return self._loose.get(_fold(name), [])


def normalise_path(written: str) -> str:
    """A path from a table, with forward slashes and without a leading `./`."""
    written = written.strip().replace("\\", "/")
    while written.startswith("./"):
        written = written[2:]
    return written


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _walk(root: Path) -> Iterable[tuple[str, list[str]]]:
    """Every folder below `root` (relative, with forward slashes; "" is the root) and the names of its files.

    Links to folders are followed, but no folder is entered twice.
    """
    waiting, entered = [""], set()
    while waiting:
        parent = waiting.pop()
        path = os.path.join(root, parent)
        real = os.path.realpath(path)
        if real in entered:
            continue
        entered.add(real)
        names, folders = [], []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.name in _LITTER:
                        continue
                    if entry.is_dir():
                        folders.append(f"{parent}/{entry.name}" if parent else entry.name)
                    else:
                        names.append(entry.name)
        except OSError as error:
            if not parent:
                raise DatasetError(f"the folder cannot be read ({error.strerror})", where=str(root)) from None
            continue  # no permission: the check reports the images of this subfolder as missing
        waiting.extend(sorted(folders, reverse=True))
        yield parent, names
