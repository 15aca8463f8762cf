"""Small images in memory, and small networks to encode them with."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from PIL import Image

from seetell.data import Record
from seetell.errors import ImageError
from seetell.learn.encoders import Encoder


@dataclass(frozen=True)
class Bytes:
    """An image in memory; without data, one that cannot be read."""

    name: str
    data: bytes | None

    def read(self) -> bytes:
        if self.data is None:
            raise ImageError("there is no such file", where=self.name)
        return self.data


def jpeg(seed: int) -> bytes:
    random = np.random.default_rng(seed)
    width, height = random.integers(40, 90, 2)
    coarse = random.integers(0, 256, (6, 8, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(coarse).resize((int(width), int(height))).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def record(seed: int, data: bytes | None = b"", split: str = "train") -> Record:
    return Record(f"{seed}", Bytes(f"image-{seed}.jpg", jpeg(seed) if data == b"" else data), split=split)


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Networks this small lose more by sharing a batch between cores than they gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make_records() -> Callable[[int], list[Record]]:
    return lambda count: [record(seed) for seed in range(count)]


@pytest.fixture
def make_record() -> Callable[..., Record]:
    return record


@pytest.fixture(scope="session")
def small() -> Encoder:
    """An untrained network of a few thousand weights, with everything that large ones have."""
    return Encoder.load("test_efficientnet@random")
