"""What a task reads of an image while it trains: features from the store, or the image itself."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seetell.data import Record
from seetell.images import Preparation, decode
from seetell.learn.encoders import FeatureStore
from seetell.learn.encoders.keys import usable_cores
from seetell.learn.encoders.pipeline import scale
from seetell.learn.training.augmentation import random_pixels


class ImageInputs(Protocol):
    """ImageSource inputs of one split, by position."""

    def __len__(self) -> int: ...

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        """The inputs of some images; a random generator is given in training, for augmentation."""
        ...


class StoredFeatures:
    """Rows of a feature store, as 32-bit floats.

    Args:
        mirrored: features of the same images' mirror images; in training, half of the images are read from there.
    """

    def __init__(self, store: FeatureStore, rows: np.ndarray, mirrored: "StoredFeatures | None" = None) -> None:
        self.store, self.rows, self.mirrored = store, rows, mirrored

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        features = self.store.tensor(self.rows[indices])
        if self.mirrored is not None and random is not None:
            turned = np.flatnonzero(random.random(len(indices)) < 0.5)
            features[turned] = self.mirrored.batch(indices[turned])
        return features


class LiveImages:
    """Images, decoded and prepared when they are asked for: (B, 3, H, W), scaled.

    Args:
        augment: in training, random crops and mirror images.
    """

    def __init__(self, records: Sequence[Record], preparation: Preparation, *, augment: bool) -> None:
        self.records, self.preparation, self.augment = records, preparation, augment
        self.pool = ThreadPoolExecutor(usable_cores())

    def __len__(self) -> int:
        return len(self.records)

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        chances = [None] * len(indices) if random is None or not self.augment else random.spawn(len(indices))
        pixels = list(self.pool.map(self._pixels, indices.tolist(), chances))
        return scale(torch.from_numpy(np.stack(pixels)), self.preparation)

    def _pixels(self, index: int, random: np.random.Generator | None) -> NDArray[np.uint8]:
        source = self.records[index].image
        image = decode(source.read(), name=source.name, at_least=self.preparation.resize)
        if random is not None:
            return random_pixels(image, self.preparation, random)
        (centre,) = self.preparation.pixels(image, name=source.name)
        return np.asarray(centre)


def in_batches(count: int, size: int) -> Sequence[np.ndarray]:
    """Positions 0 … count−1, in order, a batch at a time."""
    return [np.arange(start, min(start + size, count)) for start in range(0, count, size)]
