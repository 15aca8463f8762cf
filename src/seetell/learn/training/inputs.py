"""What a task reads of a picture while it trains: features from the store, or the pictures themselves."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from torch import Tensor

from seetell.learn.encoders import FeatureStore


class PictureInputs(Protocol):
    """Picture inputs of one split, by position."""

    def __len__(self) -> int: ...

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        """The inputs of some pictures; a random generator is given in training, for augmentation."""
        ...


class StoredFeatures:
    """Rows of a feature store, as 32-bit floats."""

    def __init__(self, store: FeatureStore, rows: np.ndarray) -> None:
        self.store, self.rows = store, rows

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        return self.store.tensor(self.rows[indices])


def in_batches(count: int, size: int) -> Sequence[np.ndarray]:
    """Positions 0 … count−1, in order, a batch at a time."""
    return [np.arange(start, min(start + size, count)) for start in range(0, count, size)]
