"""The check of a dataset: what it holds, what is wrong with it, and whether anything usable is left."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from seetell.data.dataset import Dataset, Skipped
from seetell.data.records import NO_SUCH_FILE, Record
from seetell.errors import ImageError
from seetell.files import content_hash
from seetell.progress import SILENT, Progress
from seetell.util import usable_cores

SHOWN = 20  # entries of a long list in a text report


@dataclass(frozen=True, slots=True)
class SplitCount:
    """The size of a split; "" stands for images in none."""

    split: str
    images: int
    captions: int
    labels: int  # of all images together
    duplicates: int | None  # images with the same bytes as an earlier one of the split; None if none was read


@dataclass(frozen=True, slots=True)
class CountRange:
    """How many captions, or labels, an image has."""

    minimum: int
    mean: float
    maximum: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of `check`.

    Args:
        name: of the dataset.
        splits: counts per split, images in none last.
        captions: per image; None if there are no captions.
        labels: per image; None if there are no labels.
        classes: the number of different labels.
        training_vocabulary: different words in the captions of the training split.
        vocabulary: different words in all captions.
        images_read: whether images were read and decoded; if not, the next two are empty.
        unreadable: missing or damaged images, and why.
        in_two_splits: groups of images with the same bytes in different splits, as (split, image).
        skipped: lines that the reader skipped, and why.
        notes: decisions of the reader.
    """

    name: str
    splits: tuple[SplitCount, ...]
    captions: CountRange | None
    labels: CountRange | None
    classes: int
    training_vocabulary: int
    vocabulary: int
    images_read: bool
    unreadable: tuple[Skipped, ...]
    in_two_splits: tuple[tuple[tuple[str, str], ...], ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]

    @property
    def images(self) -> int:
        return sum(split.images for split in self.splits)

    @property
    def usable(self) -> bool:
        """Whether any image can be read."""
        return self.images > len(self.unreadable)

    def to_json(self) -> dict[str, Any]:
        """The whole report, for `json.dumps`."""
        return {
            "dataset": self.name,
            "usable": self.usable,
            "images": self.images,
            "captions": sum(split.captions for split in self.splits),
            "splits": [asdict(split) for split in self.splits],
            "captions_per_image": asdict(self.captions) if self.captions else None,
            "labels_per_image": asdict(self.labels) if self.labels else None,
            "classes": self.classes,
            "vocabulary": {"train": self.training_vocabulary, "all": self.vocabulary},
            "images_read": self.images_read,
            "unreadable": [{"image": each.where, "reason": each.reason} for each in self.unreadable],
            "in_two_splits": [
                [{"split": split, "image": image} for split, image in group] for group in self.in_two_splits
            ],
            "skipped": [{"where": each.where, "reason": each.reason} for each in self.skipped],
            "notes": list(self.notes),
        }

    def lines(self, shown: int | None = SHOWN) -> Iterator[str]:
        """The report as text.

        Args:
            shown: how many entries of each list; None for all.
        """
        captions = sum(split.captions for split in self.splits)
        yield f"{self.name}: {_count(self.images, 'image')}, {_count(captions, 'caption')}"
        for split in self.splits:
            labels = f", {_count(split.labels, 'label')}" if split.labels else ""
            twice = f" ({_count(split.duplicates, 'duplicate')})" if split.duplicates else ""
            name = split.split or "no split"
            yield f"  {name:<8} {split.images:>9,} images{twice}, {_count(split.captions, 'caption')}{labels}"
        if self.captions:
            yield f"captions per image: {_range(self.captions)}"
            yield f"vocabulary: {self.training_vocabulary:,} words in the training split, {self.vocabulary:,} in all"
        if self.labels:
            yield f"labels per image: {_range(self.labels)}; {_count(self.classes, 'class', 'classes')}"
        yield from self.notes
        if self.images_read:
            yield from _listed("unreadable or missing images", map(str, self.unreadable), shown)
            groups = (", ".join(f"{split}: {image}" for split, image in group) for group in self.in_two_splits)
            yield from _listed("images in two splits", groups, shown)
        else:
            yield "images: not read"
        yield from _listed("lines skipped", map(str, self.skipped), shown)
        if not self.usable:
            yield "Nothing usable is left."
            if self.unreadable and all(entry.reason == NO_SUCH_FILE for entry in self.unreadable):
                yield "No image is where it is expected. Add their folder to the dataset: ?images=FOLDER"


def check(dataset: Dataset, *, progress: Progress = SILENT, images: bool = True) -> CheckReport:
    """Count a dataset, and read and decode all its images.

    Args:
        dataset: from `open_dataset`.
        progress: follows the reading of images.
        images: whether to read them; counting alone takes seconds.

    Example:
        >>> from seetell.data import check, open_dataset
        >>> report = check(open_dataset("scenes:8"))
        >>> report.images, report.usable, report.captions.mean
        (8, True, 5.0)
    """
    records = dataset.records
    findings = _read_images(records, progress) if images else []
    digests = [finding if isinstance(finding, bytes) else None for finding in findings]
    unreadable = tuple(finding for finding in findings if isinstance(finding, Skipped))
    training, everything = _vocabularies(records)
    order = {split: position for position, split in enumerate(("train", "val", "test", "extra"))}
    names = sorted({record.split for record in records}, key=lambda name: (not name, order.get(name, 9), name))
    return CheckReport(
        name=dataset.name,
        splits=tuple(_count_split(name, records, digests) for name in names),
        captions=_measure([len(record.captions) for record in records]),
        labels=_measure([len(record.labels) for record in records]),
        classes=len(dataset.classes),
        training_vocabulary=training,
        vocabulary=everything,
        images_read=images,
        unreadable=unreadable,
        in_two_splits=tuple(_in_two_splits(records, digests)),
        skipped=dataset.skipped,
        notes=dataset.notes,
    )


def _read_images(records: Sequence[Record], progress: Progress) -> list[bytes | Skipped]:
    """For each record the hash of its image, or why it cannot be read."""
    findings: list[bytes | Skipped] = []
    bad = 0
    pool = ThreadPoolExecutor(max_workers=min(8, usable_cores()))
    try:
        with progress.task("Reading images", total=len(records), unit="images") as task:
            for finding in pool.map(_read_image, records):
                findings.append(finding)
                bad += isinstance(finding, Skipped)
                task.advance(note=f"{bad:,} unreadable" if bad else None)
    finally:
        pool.shutdown(cancel_futures=True)  # after an interrupt, start nothing that is still waiting
    return findings


def _read_image(record: Record) -> bytes | Skipped:
    from seetell.images import decode

    try:
        data = record.image.read()
        decode(data, name=record.image.name)
    except ImageError as error:
        remedy = f". {error.remedy}" if error.remedy else ""
        return Skipped(record.image.name, f"{error.problem}{remedy}")
    return content_hash(data)


def _vocabularies(records: Iterable[Record]) -> tuple[int, int]:
    """The number of different words in the captions of the training split, and in all captions."""
    from seetell.text.tokenizers import words

    training: set[str] = set()
    others: set[str] = set()
    for record in records:
        vocabulary = training if record.split == "train" else others
        for caption in record.captions:
            vocabulary.update(words(caption))
    return len(training), len(training | others)


def _count_split(name: str, records: Sequence[Record], digests: Sequence[bytes | None]) -> SplitCount:
    members = [record for record in records if record.split == name]
    duplicates = None
    if digests:
        read = [digest for record, digest in zip(records, digests, strict=True) if digest and record.split == name]
        duplicates = len(read) - len(set(read))
    return SplitCount(
        name,
        len(members),
        sum(len(record.captions) for record in members),
        sum(len(record.labels) for record in members),
        duplicates,
    )


def _in_two_splits(records: Sequence[Record], digests: Sequence[bytes | None]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Groups of images with the same bytes that are in different splits; images in none do not count."""
    groups: dict[bytes, list[tuple[str, str]]] = {}
    for record, digest in zip(records, digests, strict=False):
        if digest and record.split:
            groups.setdefault(digest, []).append((record.split, record.image.name))
    for group in groups.values():
        if len({split for split, _ in group}) > 1:
            yield tuple(group)


def _measure(counts: Sequence[int]) -> CountRange | None:
    if not any(counts):
        return None
    return CountRange(min(counts), sum(counts) / len(counts), max(counts))


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _range(counts: CountRange) -> str:
    if counts.minimum == counts.maximum:
        return f"{counts.minimum}"
    return f"{counts.minimum} to {counts.maximum}, {counts.mean:.2f} on average"


def _listed(what: str, entries: Iterable[str], shown: int | None) -> Iterator[str]:
    listed = list(entries)
    yield f"{what}: {len(listed):,}"
    yield from (f"  {entry}" for entry in listed[:shown])
    if shown is not None and len(listed) > shown:
        yield f"  … and {len(listed) - shown:,} more"
