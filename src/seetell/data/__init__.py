"""Datasets: readers that all yield the same records, splits, and the check behind `seetell check`."""

from seetell.data.checks import CheckReport, check
from seetell.data.dataset import Dataset, Skipped, union
from seetell.data.open import open_dataset
from seetell.data.records import Box, Picture, PictureFile, Record

__all__ = [
    "Box",
    "CheckReport",
    "Dataset",
    "Picture",
    "PictureFile",
    "Record",
    "Skipped",
    "check",
    "open_dataset",
    "union",
]
