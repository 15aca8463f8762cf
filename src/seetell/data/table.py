"""One's own images: a CSV, TSV or JSON-lines table with a row an image, or a row a caption.

Rows that name the same file are merged; a row that repeats another to the letter is left out and reported. Without a
split column, images are split 80/10/10 by the hash of what the `file` column says: always the same, and untouched by
rows added later. `seetell.data.rows` says what columns may be called.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from seetell.data.dataset import Dataset, Skipped
from seetell.data.folders import Folder, tidy_path
from seetell.data.records import ImageFile, Record
from seetell.data.rows import Row, read_rows
from seetell.data.splits import by_hash, stricter
from seetell.errors import DatasetError

SHARES = {"train": 80.0, "val": 10.0, "test": 10.0}


@dataclass(slots=True)
class _Draft:
    line: int
    split: str | None
    captions: list[str] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)


def table(path: Path, *, images: Path | None = None, extra: str = "extra") -> Dataset:
    """Read a table.

    Args:
        path: the table.
        images: the folder that holds the images, at any depth. A file that is not in it is looked for beside the
            table; without `images` that is where all are. An image that is nowhere keeps its record: the check finds
            it missing, and says where it was expected.
        extra: "train" puts the images of the split "extra" among those that are trained on.
    """
    if extra not in ("extra", "train"):
        raise DatasetError(f"extra is {extra!r}", where=str(path), remedy="Write extra=train, or leave it out")
    rows, skipped, unused = read_rows(path)
    drafts = _merge(path, rows, skipped)
    notes = [f"columns not used: {', '.join(unused)}"] if unused else []
    finder = _Finder(path.parent, images)
    records = []
    hashed = not any(draft.split is not None for draft in drafts.values())
    for key, draft in drafts.items():
        try:
            image = ImageFile(finder.find(key))
        except _AmbiguousError as error:
            skipped.append(Skipped(f"{path}:{draft.line}", str(error)))
            continue
        split = by_hash(key, SHARES) if hashed else draft.split or ""
        split = extra if split == "extra" else split
        records.append(Record(key, image, tuple(draft.captions), tuple(sorted(draft.labels)), split))
    if hashed and records:
        notes.append("there is no split column: split 80/10/10 by hash of the file name")
    if finder.folder and finder.folder.images > finder.inside:
        notes.append(f"images in {images} that are not in the table: {finder.folder.images - finder.inside:,}")
    classes = tuple(sorted({label for record in records for label in record.labels}))
    return Dataset(path.stem, tuple(records), tuple(skipped), classes, tuple(notes))


def _merge(path: Path, rows: list[Row], skipped: list[Skipped]) -> dict[str, _Draft]:
    """One draft a file, in the order of the table; what is left out is added to `skipped`."""
    drafts: dict[str, _Draft] = {}
    seen: dict[tuple[object, ...], int] = {}
    for row in rows:
        where = f"{path}:{row.line}"
        key = tidy_path(row.file)
        content = (key, row.split, row.captions, row.labels)
        if content in seen:
            skipped.append(Skipped(where, f"repeats line {seen[content]}"))
            continue
        seen[content] = row.line
        draft = drafts.setdefault(key, _Draft(row.line, row.split))
        draft.captions += row.captions
        draft.labels.update(row.labels)
        if row.split is not None and row.split != draft.split:
            kept = stricter(draft.split or "", row.split)
            if draft.split and row.split:
                reason = f"its split {row.split!r} is not that of line {draft.line}, {draft.split!r}; {kept!r} is kept"
                skipped.append(Skipped(where, reason))
            draft.split = kept
    return drafts


class _AmbiguousError(Exception):
    pass


class _Finder:
    """Where a table's images are."""

    def __init__(self, beside: Path, images: Path | None) -> None:
        self._beside = beside
        self.folder = Folder(images) if images else None
        self.inside = 0  # images found in the folder

    def find(self, file: str) -> Path:
        if self.folder is None or os.path.isabs(file):
            return self._beside / file
        found = self.folder.matches(file)
        if len(found) > 1:
            folders = ", ".join(str(path.parent.relative_to(self.folder.root)) for path in found)
            raise _AmbiguousError(f"{file} is in several folders ({folders}): write which")
        if found:
            self.inside += 1
            return found[0]
        beside = self._beside / file
        return beside if beside.exists() else self.folder.root / file
