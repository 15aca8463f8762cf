"""Your own images: a CSV, TSV or JSON-lines table with a row per image or per caption.

Rows with the same file are merged; exact repetitions are skipped and reported. Without a split column, images are split
80/10/10 by the hash of the `file` column: reproducible, and unaffected by rows that are added later.
`seetell.data.rows` lists the names of columns.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from seetell.data.dataset import Dataset, Skipped
from seetell.data.folders import Folder, normalise_path
from seetell.data.records import ImageFile, Record
from seetell.data.rows import TableRow, read_rows
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
        images: the folder of the images, at any depth. Files that are not in it, and all files without `images`, are
            expected next to the table. A missing image keeps its record; the check reports where it was expected.
        extra: "train" moves the images of the split "extra" to the training split.
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
        notes.append("no split column: split 80/10/10 by the hash of the file name")
    if finder.folder and finder.folder.images > finder.inside:
        notes.append(f"images in {images} that are not in the table: {finder.folder.images - finder.inside:,}")
    classes = tuple(sorted({label for record in records for label in record.labels}))
    return Dataset(path.stem, tuple(records), tuple(skipped), classes, tuple(notes))


def _merge(path: Path, rows: list[TableRow], skipped: list[Skipped]) -> dict[str, _Draft]:
    """A draft per file, in the order of the table; rows that are left out are added to `skipped`."""
    drafts: dict[str, _Draft] = {}
    seen: dict[tuple[object, ...], int] = {}
    for row in rows:
        where = f"{path}:{row.line}"
        key = normalise_path(row.file)
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
                reason = f"split {row.split!r} differs from {draft.split!r} in line {draft.line}; {kept!r} is kept"
                skipped.append(Skipped(where, reason))
            draft.split = kept
    return drafts


class _AmbiguousError(Exception):
    pass


class _Finder:
    """Finds the images of a table."""

    def __init__(self, table_folder: Path, images: Path | None) -> None:
        self._table_folder = table_folder
        self.folder = Folder(images) if images else None
        self.inside = 0  # images found in the folder

    def find(self, file: str) -> Path:
        if self.folder is None or os.path.isabs(file):
            return self._table_folder / file
        found = self.folder.matches(file)
        if len(found) > 1:
            folders = ", ".join(str(path.parent.relative_to(self.folder.root)) for path in found)
            raise _AmbiguousError(f"{file} is in several folders ({folders}): add the folder to the name")
        if found:
            self.inside += 1
            return found[0]
        expected = self._table_folder / file
        return expected if expected.exists() else self.folder.root / file
