"""What a model reads of an image in training: features from the store, or the pixels."""

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
from seetell.learn.encoders.pipeline import scale
from seetell.learn.training.augmentation import random_pixels
from seetell.util import usable_cores


class ImageInputs(Protocol):
    """The image inputs of one split, by index."""

    def __len__(self) -> int: ...

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        """The inputs of some images; in training with a random generator, for augmentation."""
        ...


class StoredFeatures:
    """Rows of a feature store, as 32-bit floats.

    Args:
        mirrored: features of the mirrored images; in training, half of the images are read from there.
    """

    def __init__(self, store: FeatureStore, rows: np.ndarray, mirrored: "StoredFeatures | None" = None) -> None:
        self.store, self.rows, self.mirrored = store, rows, mirrored

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        features = self.store.tensor(self.rows[indices])
        if self.mirrored is not None and random is not None:
            flipped = np.flatnonzero(random.random(len(indices)) < 0.5)
            features[flipped] = self.mirrored.batch(indices[flipped])
        return features


class LiveImages:
    """Images, decoded and prepared on demand: (B, 3, H, W), scaled.

    Args:
        augment: random crops and mirroring in training.
    """

    def __init__(self, records: Sequence[Record], preparation: Preparation, *, augment: bool) -> None:
        self.records, self.preparation, self.augment = records, preparation, augment
        self.pool = ThreadPoolExecutor(usable_cores())

    def __len__(self) -> int:
        return len(self.records)

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        generators = [None] * len(indices) if random is None or not self.augment else random.spawn(len(indices))
        pixels = list(self.pool.map(self._pixels, indices.tolist(), generators))
        return scale(torch.from_numpy(np.stack(pixels)), self.preparation)

    def _pixels(self, index: int, random: np.random.Generator | None) -> NDArray[np.uint8]:
        source = self.records[index].image
        image = decode(source.read(), name=source.name, at_least=self.preparation.resize)
        if random is not None:
            return random_pixels(image, self.preparation, random)
        (centre,) = self.preparation.pixels(image, name=source.name)
        return np.asarray(centre)


def in_batches(count: int, size: int) -> Sequence[np.ndarray]:
    """The indices 0 … count−1, in order, in batches."""
    return [np.arange(start, min(start + size, count)) for start in range(0, count, size)]
