"""A dataset: records, the classes of its labels, and what its reader skipped."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from seetell.data.records import ImageFile, ImageSource, Record
from seetell.data.splits import HELD_OUT, stricter
from seetell.errors import DatasetError


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that a reader skipped.

    Args:
        where: `file:line`, or the entry of a JSON file.
        reason: why, as a phrase.
    """

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Records under one name.

    Args:
        name: its name in reports, for example `flickr8k`.
        records: one per image, in the order of the annotations.
        skipped: everything that the reader skipped, and why.
        classes: all labels, in the order of the dataset (alphabetical if it has none).
        notes: decisions of the reader that people should know, such as a split that it made itself.

    Example:
        >>> from seetell.data import open_dataset
        >>> dataset = open_dataset("scenes:40")
        >>> len(dataset.split("train")), len(dataset.split("test"))
        (32, 4)
    """

    name: str
    records: tuple[Record, ...]
    skipped: tuple[Skipped, ...] = ()
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def split(self, name: str) -> list[Record]:
        """The records of one split; "" gives those in none."""
        return [record for record in self.records if record.split == name]

    def label_order(self, split: str = "train") -> list[str]:
        """The labels of a split from the most to the least frequent, ties in alphabetical order."""
        counts = Counter(label for record in self.records if record.split == split for label in record.labels)
        return sorted(counts, key=lambda label: (-counts[label], label))


def union(datasets: Sequence[Dataset]) -> Dataset:
    """Join datasets, keeping their order.

    Keys that occur in several of them are prefixed with the name of their dataset (`flickr8k/a.jpg`). An image that is
    held out in one dataset and not in another is dropped from the other and reported among `skipped`, so that no test
    image is ever trained on; likewise, test wins over val.

    Args:
        datasets: at least one.
    """
    if not datasets:
        raise DatasetError("there is no dataset to join")
    if len(datasets) == 1:
        return datasets[0]
    names = _distinct([dataset.name for dataset in datasets])
    keys = Counter(record.key for dataset in datasets for record in dataset.records)
    strictest: dict[str, tuple[str, str]] = {}  # an image → its strictest split, and the dataset that it is from
    for name, dataset in zip(names, datasets, strict=True):
        for record in dataset.records:
            image = _identity(record.image)
            split, _ = strictest.setdefault(image, (record.split, name))
            if stricter(split, record.split) != split:
                strictest[image] = record.split, name
    records: list[Record] = []
    skipped: list[Skipped] = []
    for name, dataset in zip(names, datasets, strict=True):
        skipped += dataset.skipped
        for record in dataset.records:
            split, owner = strictest[_identity(record.image)]
            if split in HELD_OUT and record.split not in ("", split):
                reason = f"held out as {split} in {owner}, so not used as {record.split} from {name}"
                skipped.append(Skipped(record.image.name, reason))
                continue
            shared = keys[record.key] > 1
            records.append(replace(record, key=f"{name}/{record.key}") if shared else record)
    classes = dict.fromkeys(label for dataset in datasets for label in dataset.classes)
    notes = [f"{name}: {note}" for name, dataset in zip(names, datasets, strict=True) for note in dataset.notes]
    return Dataset("+".join(names), tuple(records), tuple(skipped), tuple(classes), tuple(notes))


def limit_splits(dataset: Dataset, count: int) -> Dataset:
    """At most `count` images of each split: those whose keys have the lowest hashes, a fair and stable sample."""
    kept: set[str] = set()
    for split in {record.split for record in dataset.records}:
        keys = [record.key for record in dataset.records if record.split == split]
        kept.update(sorted(keys, key=lambda key: sha256(key.encode("utf-8", "surrogatepass")).digest())[:count])
    left_out = len(dataset.records) - len(kept)
    if not left_out:
        return dataset
    records = tuple(record for record in dataset.records if record.key in kept)
    return replace(dataset, records=records, notes=(*dataset.notes, f"limited: {left_out:,} images left out"))


def _distinct(names: list[str]) -> list[str]:
    """The names, repeated ones with a number: table, table-2."""
    counts: Counter[str] = Counter()
    distinct = []
    for name in names:
        counts[name] += 1
        distinct.append(name if counts[name] == 1 else f"{name}-{counts[name]}")
    return distinct


def _identity(image: ImageSource) -> str:
    """What two records of the same image share, however its path is written."""
    if isinstance(image, ImageFile):
        return os.path.normcase(os.path.abspath(image.path))
    return f"{type(image).__name__} {image.name}"
