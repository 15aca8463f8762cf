"""Datasets: readers that all yield the same records, splits, and the check behind `seetell check`."""

from seetell.data.dataset import Dataset, Skipped
from seetell.data.records import Box, Picture, PictureFile, Record

__all__ = ["Box", "Dataset", "Picture", "PictureFile", "Record", "Skipped"]
