"""A dataset: records, the classes its labels come from, and what its reader had to leave out."""

from collections import Counter
from dataclasses import dataclass

from seetell.data.records import Record


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something a reader left out: `where` is `file:line` (or the entry of a JSON file), `reason` a phrase."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Records under one name.

    Args:
        name: what it is called in reports, `flickr8k` for instance.
        records: every picture once, in the order of the annotations.
        skipped: everything the reader left out, and why.
        classes: every label there can be, in the dataset's own order (alphabetical where it has none).
        notes: decisions the reader took that a person should know of, such as a split that it made itself.
    """

    name: str
    records: tuple[Record, ...]
    skipped: tuple[Skipped, ...] = ()
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def split(self, name: str) -> list[Record]:
        """The records of one split; "" is those in none."""
        return [record for record in self.records if record.split == name]

    def label_order(self, split: str = "train") -> list[str]:
        """Labels from the most to the least frequent in `split`, ties alphabetically; a label that never occurs
        there is left out."""
        counts = Counter(label for record in self.records if record.split == split for label in record.labels)
        return sorted(counts, key=lambda label: (-counts[label], label))
