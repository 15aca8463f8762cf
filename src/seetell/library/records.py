"""What a library tells: images, findings, reports."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from seetell.errors import LibraryError as LibraryError
from seetell.runtime import Tag

MATCHES = 0.5  # the least relevance of an image that is said to match


class DamagedError(LibraryError):
    """A database that is not as it was written; `Library.rebuild` saves what can be saved."""


@dataclass(frozen=True, slots=True)
class LibraryImage:
    """All that is known of an image.

    Args:
        id: stays the same while any file has this content, and after a reindex.
        files: where it is: absolute paths, one or several, the one added first in front.
        caption: a person's if there is one, else the model's.
        tags: a person's if there are some (confidence 1), else the model's.
        description: what people wrote elsewhere: in the file itself (XMP, IPTC, EXIF), or in a table that was imported.
        edited: "caption", "tags": which of them a person wrote.
        taken: when, in seconds since 1970: by the camera's clock, or else the file's own time.
        hash: of the file's bytes (BLAKE2b, 32 hexadecimal digits).
    """

    id: int
    files: tuple[str, ...]
    caption: str
    tags: tuple[Tag, ...]
    description: str
    edited: frozenset[str]
    width: int
    height: int
    bytes: int
    taken: float
    hash: str

    @property
    def path(self) -> str:
        return self.files[0]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(tag.label for tag in self.tags)

    def readable_file(self) -> Path | None:
        """One of its files that is there now and as large as it was; None if there is none."""
        for each in self.files:
            try:
                if os.stat(each).st_size == self.bytes:
                    return Path(each)
            except OSError:
                continue
        return None


@dataclass(frozen=True, slots=True)
class Found:
    """An image that was found.

    Args:
        relevance: the probability that it is what was asked for.
        matches: whether that is at least one half.
        similarity: of the embeddings, as the bundle compares them; None where it has none.
        words: the words of the question that are among the image's own.
    """

    image: LibraryImage
    relevance: float
    matches: bool
    similarity: float | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Results(Sequence[Found]):
    """What a search found, best first.

    Args:
        unknown: words of the question that the bundle does not know and no image has: they were not heeded.
        exact: whether every image was compared, and not only those that the index proposed.
    """

    rows: tuple[Found, ...] = ()
    unknown: tuple[str, ...] = ()
    exact: bool = True

    @property
    def matching(self) -> tuple[Found, ...]:
        return tuple(found for found in self.rows if found.matches)

    @overload
    def __getitem__(self, place: int) -> Found: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Found]: ...
    def __getitem__(self, place: int | slice) -> Found | Sequence[Found]:
        return self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, and how many images have it."""

    label: str
    images: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A file or folder that cannot be read, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class Report:
    """What an update did.

    Args:
        told: images that went through the models.
        linked: files whose content was known: moved, copied, or come back.
        unchanged: files that were not opened.
        forgotten: files that are gone.
        unreadable: files that cannot be read, new and remembered ones.
        problems: what is new among those, and folders that cannot be read or are not there.
        stopped: whether it was asked to stop before the end.
        rebuilt: what was saved, if the database was damaged and had to be made anew.
    """

    told: int = 0
    linked: int = 0
    unchanged: int = 0
    forgotten: int = 0
    unreadable: int = 0
    problems: list[Problem] = field(default_factory=list)
    new: list[int] = field(default_factory=list)  # the ids of images that were told
    stopped: bool = False
    rebuilt: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Info:
    """A library at a glance."""

    path: Path
    images: int
    files: int
    unreadable: int
    edited: int
    folders: tuple[str, ...]
    bundle: str  # its name
    bundle_place: str  # the name or folder that opens it
    fingerprint: str
    kinds: tuple[str, ...]
    bytes: int  # on disk
    coming: str  # the bundle that an unfinished reindex is moving to

    def to_json(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name in self.__slots__}
        return {**row, "path": str(self.path), "folders": list(self.folders), "kinds": list(self.kinds)}


@dataclass(frozen=True, slots=True)
class Imported:
    """What a table of descriptions gave.

    Args:
        described: images that have one now.
        missing: rows about files that are not in the library.
        skipped: lines that could not be read, as `file:line: reason`.
    """

    described: int
    missing: int
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A new image, and the alert that it matches."""

    image: LibraryImage
    alert: str
    relevance: float
