"""Datasets: readers that all yield the same records, splits, and the check behind `seetell check`."""

from seetell.data.checks import CheckReport, check
from seetell.data.dataset import Dataset, Skipped, union
from seetell.data.open import open_dataset
from seetell.data.records import Box, ImageFile, ImageSource, Record

__all__ = [
    "Box",
    "CheckReport",
    "Dataset",
    "ImageFile",
    "ImageSource",
    "Record",
    "Skipped",
    "check",
    "open_dataset",
    "union",
]
