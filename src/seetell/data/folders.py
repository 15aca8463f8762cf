"""What a folder holds, learned in one walk: finding a dataset's images without asking the disk for each."""

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
    """The files under a folder, however deep, by name. Hidden files and folders are passed over."""

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
        self._fullest = ""  # the folder with most images
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
        """The files that a table may mean by `written`, the likeliest first.

        One that lies exactly there is the only answer. Otherwise it is every file whose full path ends with what is
        written: a bare name is found in any subfolder, and `images/a.jpg` under a root that is itself called `images`.
        Failing that, upper and lower case, and composed and decomposed accents, count as the same.
        """
        parent, _, name = tidy_path(written).rpartition("/")
        parents = self._parents.get(name, [])
        if parent in parents:
            return [self._path(parent, name)]
        found = [(place, name) for place in parents if self._ends(place, parent)]
        if not found:
            found = [
                (place, actual) for place, actual in self._loosely(name) if self._ends(place, parent, exactly=False)
            ]
        return [self._path(*each) for each in sorted(found, key=lambda each: (each[0].count("/"), each))]

    def expected(self, written: str) -> Path:
        """Where an image that is not there would be: in the folder that is written, else beside most of the others."""
        parent, _, name = tidy_path(written).rpartition("/")
        if not parent:
            return self._path(self._fullest, name)
        return self._path(next((place for place in self._folders if self._ends(place, parent)), parent), name)

    def named(self, pattern: re.Pattern[str]) -> list[Path]:
        """The files whose whole name matches, nearest the root first."""
        found = [
            (parent.count("/") + bool(parent), parent, name)
            for name, parents in self._parents.items()
            if pattern.fullmatch(name)
            for parent in parents
        ]
        return [self._path(parent, name) for _, parent, name in sorted(found)]

    def _path(self, parent: str, name: str) -> Path:
        return Path(os.path.join(self.root, parent, name))

    def _ends(self, place: str, parent: str, *, exactly: bool = True) -> bool:
        if not parent:
            return True
        whole = f"{self._full}/{place}".rstrip("/")
        return whole.endswith(f"/{parent}") if exactly else _fold(whole).endswith(f"/{_fold(parent)}")

    def _loosely(self, name: str) -> list[tuple[str, str]]:
        if self._loose is None:  # made at the first name that is not there as written
            self._loose = {}
            for actual, parents in self._parents.items():
                self._loose.setdefault(_fold(actual), []).extend((parent, actual) for parent in parents)
        return self._loose.get(_fold(name), [])


def tidy_path(written: str) -> str:
    """A path as tables write it, with forward slashes and without a leading `./`."""
    written = written.strip().replace("\\", "/")
    while written.startswith("./"):
        written = written[2:]
    return written


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _walk(root: Path) -> Iterable[tuple[str, list[str]]]:
    """Every folder under `root` (relative, with forward slashes; "" is the root) and the names of its files. Links to
    folders are followed, but no folder is entered twice."""
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
            continue  # a subfolder that is closed to us: what lies in it is missing, and the check says so
        waiting.extend(sorted(folders, reverse=True))
        yield parent, names
