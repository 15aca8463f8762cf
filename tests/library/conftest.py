"""Libraries of tiny images, described by the tiny bundles of `helpers/tiny_bundles.py`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers import tiny_bundles
from seetell.bundle import write_bundle
from seetell.library import Library

Painter = Callable[..., Path]


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights at random: good for all that is not about meaning."""
    return tiny_bundles.write_tiny(tmp_path_factory.mktemp("bundles") / "tiny").path


@pytest.fixture(scope="session")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model without a captioner that knows the words red, green and blue: their embeddings are the colours."""
    heads = ("tagger", "retriever")
    words = np.zeros((12, tiny_bundles.DIMENSIONS), np.float32)
    words[4:7, :3] = np.eye(3)
    files = {
        **tiny_bundles.files(heads),
        "images.onnx": tiny_bundles.images(np.eye(3, tiny_bundles.DIMENSIONS, dtype=np.float32)),
        "texts.onnx": tiny_bundles.texts(words),
    }
    path = tmp_path_factory.mktemp("bundles") / "colours"
    return write_bundle(path, tiny_bundles.manifest(heads), files).path


@pytest.fixture
def paint(tmp_path: Path) -> Painter:
    """Paints an image below `photos`: noise around a colour, the same for the same seed."""

    def paint(name: str, colour: tuple[int, int, int] = (120, 120, 120), seed: int = 0, size: int = 24) -> Path:
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(seed).integers(-20, 21, (4, 4, 3))
        pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).resize((size, size), Image.Resampling.NEAREST).save(path)
        return path

    return paint


@pytest.fixture
def photos(paint: Painter, tmp_path: Path) -> Path:
    """Four of each colour, in a folder of its own."""
    for index, (name, colour) in enumerate(
        {"red": (230, 30, 30), "green": (30, 230, 30), "blue": (30, 30, 230)}.items()
    ):
        for number in range(4):
            paint(f"{name}/{number}.png", colour, seed=10 * index + number)
    return tmp_path / "photos"


@pytest.fixture
def library(tmp_path: Path, colours: Path, photos: Path) -> Iterator[Library]:
    """The twelve photos, indexed."""
    with Library.open(tmp_path / "library", model=colours) as opened:
        opened.update([photos])
        yield opened
