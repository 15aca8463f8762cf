"""The common part of reading Flickr8k and Flickr30k.

Both are distributed in many layouts. The reader walks the folder once and recognises what it finds:

- captions, from the first of these that it finds: the published token file (`image.jpg#0`, a tab, the caption); a
  table as Kaggle has it (`captions.txt`, `results.csv`); Karpathy's JSON;
- splits, likewise: the published lists of images; the split column of a table; Karpathy's JSON; or else a split by the
  hash of the image's name in the published proportions, which is noted;
- images, anywhere in the folder.

A caption of an image that is neither in the folder nor in any split is skipped and reported. An image that a split
lists but that is not in the folder keeps its record; the check reports it as missing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seetell.data.dataset import Dataset, Skipped
from seetell.data.files import clean_caption, read_lines
from seetell.data.folders import Folder, normalise_path
from seetell.data.karpathy import read_karpathy
from seetell.data.records import ImageFile, Record
from seetell.data.rows import read_rows
from seetell.data.splits import by_hash, normalise, stricter
from seetell.errors import DatasetError

_CAPTION_ID = re.compile(r"(?P<file>.+?)#(?P<number>\d+)[\t ]+(?P<caption>.*)")


@dataclass(frozen=True, slots=True)
class Edition:
    """How the files of one of the two datasets are recognised."""

    name: str
    tokens: re.Pattern[str]
    tables: re.Pattern[str]
    karpathy: re.Pattern[str]
    lists: re.Pattern[str]  # its group is the split
    shares: Mapping[str, float]  # of the published splits
    expected: str


@dataclass(slots=True)
class _Draft:
    captions: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)  # the file and line of each caption


@dataclass(slots=True)
class _Reading:
    """What has been read so far; images by file name."""

    drafts: dict[str, _Draft] = field(default_factory=dict)
    splits: dict[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def caption(self, file: str, caption: str, where: str) -> None:
        draft = self.drafts.setdefault(file, _Draft())
        draft.captions.append(caption)
        draft.sources.append(where)

    def split(self, file: str, split: str, where: str) -> None:
        before = self.splits.get(file)
        if before and split and before != split:
            kept = stricter(before, split)
            self.skipped.append(Skipped(where, f"{file} is in {before!r} and in {split!r}; {kept!r} is kept"))
            split = kept
        self.splits[file] = split or before or ""


def read_flickr(path: Path, edition: Edition, *, images: Path | None = None) -> Dataset:
    """Read Flickr8k or Flickr30k.

    Args:
        path: the folder, or the file with the captions.
        edition: which of the two it is.
        images: the folder of the images, if they are elsewhere.
    """
    root = path if path.is_dir() else path.parent
    folder = Folder(root)
    image_folder = Folder(images) if images else folder
    if not image_folder.images:
        raise DatasetError(
            "there are no images in this folder",
            where=str(image_folder.root),
            remedy=f"Give their folder: {edition.name}:{path}?images=FOLDER",
        )
    reading = _Reading()
    _read_captions(path if path.is_file() else _annotations(folder, edition), reading)
    _read_splits(folder, edition, reading)
    return _dataset(edition, image_folder, reading)


def _annotations(folder: Folder, edition: Edition) -> Path:
    for pattern in (edition.tokens, edition.tables, edition.karpathy):
        if found := folder.named(pattern):
            return found[0]
    raise DatasetError(
        "there are no captions in this folder", where=str(folder.root), remedy=f"Expected {edition.expected}"
    )


def _read_captions(path: Path, reading: _Reading) -> None:
    if path.suffix.lower() == ".json":
        _read_karpathy(path, reading, captions=True)
    elif _CAPTION_ID.match(next((line for line in read_lines(path) if line.strip()), "")):
        _read_tokens(path, reading)
    else:
        _read_table(path, reading)


def _read_tokens(path: Path, reading: _Reading) -> None:
    seen: dict[tuple[str, str, str], int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        match = _CAPTION_ID.fullmatch(line.strip())
        if not match:
            reading.skipped.append(Skipped(where, "not of the form image.jpg#0, a tab, the caption"))
            continue
        file, caption = _name(match["file"]), clean_caption(match["caption"])
        if not caption:
            reading.skipped.append(Skipped(where, "there is no caption on this line"))
        elif (first := seen.setdefault((file, match["number"], caption), number)) != number:
            reading.skipped.append(Skipped(where, f"repeats line {first}"))
        else:
            reading.caption(file, caption, where)


def _read_table(path: Path, reading: _Reading) -> None:
    rows, skipped, _ = read_rows(path)
    reading.skipped += skipped
    for row in rows:
        where, file = f"{path}:{row.line}", _name(row.file)
        if row.split is not None:
            reading.split(file, row.split, where)
        if not row.captions:
            reading.skipped.append(Skipped(where, "there is no caption on this line"))
        for caption in row.captions:  # two people may write the same sentence, so repetitions are kept
            reading.caption(file, caption, where)


def _read_karpathy(path: Path, reading: _Reading, *, captions: bool) -> None:
    entries, skipped = read_karpathy(path)
    if captions:
        reading.skipped += skipped
    for entry in entries:
        file = _name(entry.file)
        reading.split(file, normalise(entry.split), entry.where)
        if captions:
            reading.drafts.setdefault(file, _Draft())
            for caption in entry.captions:
                reading.caption(file, caption, entry.where)


def _read_splits(folder: Folder, edition: Edition, reading: _Reading) -> None:
    lists: dict[str, Path] = {}
    for path in folder.named(edition.lists):
        match = edition.lists.fullmatch(path.name)
        if match:
            lists.setdefault(normalise(match[1]), path)
    if lists:
        reading.splits.clear()
        _read_lists(lists, reading)
    elif not reading.splits and (found := folder.named(edition.karpathy)):
        _read_karpathy(found[0], reading, captions=False)
        reading.notes.append(f"no split lists: the splits are those of {found[0].name}")


def _read_lists(lists: Mapping[str, Path], reading: _Reading) -> None:
    folded = {name: file for file in reading.drafts for name in (_stem(file), file.casefold())}
    for split, path in lists.items():
        seen: dict[str, int] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip():
                continue
            where, name = f"{path}:{number}", _name(line)
            # Flickr30k's lists omit the suffix of file names.
            file = name if name in reading.drafts else folded.get(name.casefold())
            if file is None:
                reading.skipped.append(Skipped(where, f"{name} has no captions"))
            elif (first := seen.setdefault(file, number)) != number:
                reading.skipped.append(Skipped(where, f"repeats line {first}"))
            else:
                reading.split(file, split, where)
    for split in ("train", "val", "test"):
        if split not in lists:
            reading.notes.append(f"there is no list of the {split} images")


def _dataset(edition: Edition, images: Folder, reading: _Reading) -> Dataset:
    records, copies, found_in_folder = [], 0, 0
    hashed = not any(reading.splits.values())
    for file, draft in reading.drafts.items():
        found = images.matches(file)
        copies += len(found) > 1
        found_in_folder += bool(found)
        split = by_hash(file, edition.shares) if hashed else reading.splits.get(file, "")
        if not found and (hashed or not split):
            reason = f"there is no image {file}"
            reading.skipped += [Skipped(where, reason) for where in dict.fromkeys(draft.sources)]
            continue
        image = ImageFile(found[0] if found else images.expected(file))
        records.append(Record(file, image, tuple(draft.captions), split=split))
    if hashed:
        shares = "/".join(f"{share:,.0f}" for share in edition.shares.values())
        reading.notes.append(f"no split lists: split by the hash of the image's name, in the proportion {shares}")
    if copies:
        reading.notes.append(
            f"{copies:,} images are in several folders below {images.root}; the copy nearest to the root is used; "
            "choose with ?images=FOLDER"
        )
    elif images.images > found_in_folder:
        reading.notes.append(f"images in {images.root} without captions: {images.images - found_in_folder:,}")
    return Dataset(edition.name, tuple(records), tuple(reading.skipped), (), tuple(reading.notes))


def _name(written: str) -> str:
    return normalise_path(written).rpartition("/")[2]


def _stem(file: str) -> str:
    return file.rpartition(".")[0].casefold()
