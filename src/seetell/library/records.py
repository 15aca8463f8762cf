"""The public records of a library: images, search results, reports, and its errors."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from seetell.errors import LibraryError
from seetell.files import Problem
from seetell.runtime import Tag

MATCH_THRESHOLD = 0.5  # the lowest relevance of an image that counts as a match


class DamagedError(LibraryError):
    """A damaged database; `Library.rebuild` recovers what can still be read."""


@dataclass(frozen=True, slots=True)
class LibraryImage:
    """Everything the library knows about an image.

    Args:
        id: stays the same while any file has this content, also across a reindex.
        files: absolute paths of the files with this content, the one added first in front.
        caption: the one written by a person if there is one, else the model's.
        tags: those written by a person if there are any (with confidence 1), else the model's.
        description: text people wrote elsewhere: in the file's metadata (XMP, IPTC, EXIF) or in an imported table.
        edited: which of "caption" and "tags" were written by a person.
        bytes: the size of the file.
        taken: when, in seconds since 1970: by the camera's clock, or else the file's modification time.
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

    def __repr__(self) -> str:
        return f"LibraryImage(id={self.id}, path={self.path!r}, caption={self.caption!r})"

    @property
    def path(self) -> str:
        """The first of its files."""
        return self.files[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """Its tags without their confidence."""
        return tuple(tag.label for tag in self.tags)

    def readable_file(self) -> Path | None:
        """The first of its files that still exists with the same size, or None."""
        for each in self.files:
            try:
                if os.stat(each).st_size == self.bytes:
                    return Path(each)
            except OSError:
                continue
        return None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One image in a list of search results.

    Args:
        relevance: the probability that the image is what was searched for.
        matches: whether the relevance is at least one half.
        similarity: of the query's and the image's embeddings, as the model compares them; None without embeddings.
        words: the words of the query that occur in the image's caption, tags or description.
    """

    image: LibraryImage
    relevance: float
    matches: bool
    similarity: float | None = None
    words: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"SearchHit(relevance={self.relevance:.2f}, path={self.image.path!r})"


@dataclass(frozen=True, slots=True)
class SearchResults(Sequence[SearchHit]):
    """The hits of a search as a sequence, best first.

    Args:
        unknown_words: words of the query that were ignored: the model does not know them, and no image has them.
        exact: whether every image was compared, and not only the candidates of an approximate index.
    """

    hits: tuple[SearchHit, ...] = ()
    unknown_words: tuple[str, ...] = ()
    exact: bool = True

    def __repr__(self) -> str:
        return f"SearchResults({len(self.hits)} hits, {len(self.matching)} matching)"

    @property
    def matching(self) -> tuple[SearchHit, ...]:
        """The hits with a relevance of at least one half."""
        return tuple(hit for hit in self.hits if hit.matches)

    @overload
    def __getitem__(self, index: int) -> SearchHit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SearchHit]: ...
    def __getitem__(self, index: int | slice) -> SearchHit | Sequence[SearchHit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, and how many images have it."""

    label: str
    images: int


@dataclass(slots=True)
class Report:
    """What an update or a reindex did.

    Args:
        indexed: images that went through the model: new ones, changed ones, or all in a reindex.
        moved: files whose content was known already: moved, copied, or back again.
        unchanged: files that were not opened.
        removed: files that no longer exist.
        unreadable: all files that cannot be read, including those known from earlier updates.
        problems: files newly found unreadable, and folders that are missing or cannot be listed.
        indexed_ids: the ids of those images.
        stopped: whether it was stopped before the end.
        rebuilt: what was recovered, if the database was damaged and had to be rebuilt.
    """

    indexed: int = 0
    moved: int = 0
    unchanged: int = 0
    removed: int = 0
    unreadable: int = 0
    problems: list[Problem] = field(default_factory=list)
    indexed_ids: list[int] = field(default_factory=list)
    stopped: bool = False
    rebuilt: str = ""
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.indexed or self.moved or self.removed or self.problems)


@dataclass(frozen=True, slots=True)
class Info:
    """A summary of a library.

    Args:
        edited: contents that people wrote a caption or tags for.
        model: the name of the model that made its predictions, "" before the first update.
        model_path: the name or folder that opens that model.
        kinds: what the model has: "captioner", "tagger", "retriever".
        bytes: the size of the library on disk.
        next_model: the name of the model an unfinished reindex is moving to, or "".
    """

    path: Path
    images: int
    files: int
    unreadable: int
    edited: int
    folders: tuple[str, ...]
    model: str
    model_path: str
    fingerprint: str
    kinds: tuple[str, ...]
    bytes: int
    next_model: str

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        row = {name: getattr(self, name) for name in self.__slots__}
        return {**row, "path": str(self.path), "folders": list(self.folders), "kinds": list(self.kinds)}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What importing a table of descriptions did.

    Args:
        described: images that got a description.
        missing: rows about files that are not in the library.
        skipped: lines that could not be read, as `file:line: reason`.
    """

    described: int
    missing: int
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlertMatch:
    """A new image that matches one of the texts being watched for.

    Args:
        alert: that text.
        relevance: the probability that the image matches it.
    """

    image: LibraryImage
    alert: str
    relevance: float
