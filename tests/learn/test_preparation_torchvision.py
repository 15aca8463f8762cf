"""Preparation judged by torchvision's transforms on Pillow images."""

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms
from torchvision.transforms import InterpolationMode

from seetell.images import Preparation

SIZES = [
    *((256, 341), (341, 256), (384, 256), (257, 311), (333, 500), (500, 333), (224, 224), (260, 260)),
    *((100, 77), (31, 64), (5, 9), (1, 1), (2, 3), (640, 121), (119, 777), (1023, 767), (292, 292), (261, 260)),
]
STEPS = [(224, 256), (260, 292), (211, 211), (64, 65), (31, 40)]


def photo(width: int, height: int) -> Image.Image:
    pixels = np.random.default_rng(width * 1000 + height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def peer(preparation: Preparation) -> tuple[transforms.Compose, transforms.Compose]:
    """torchvision's way to the uint8 crops, and on from one of them to what the network reads."""
    side = preparation.resize if preparation.fit == "shorter" else (preparation.resize, preparation.resize)
    resize = transforms.Resize(side, InterpolationMode(preparation.interpolation), antialias=True)
    if preparation.crops == "ten":
        crop = [transforms.TenCrop(preparation.size)]
    else:
        crop = [transforms.CenterCrop(preparation.size), transforms.Lambda(lambda image: [image])]
    scale = [transforms.ToTensor(), transforms.Normalize(preparation.mean, preparation.std)]
    return transforms.Compose([resize, *crop]), transforms.Compose(scale)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize("crops", ["centre", "ten"])
@pytest.mark.parametrize("fit", ["shorter", "squash"])
@pytest.mark.parametrize(("size", "resize"), STEPS)
def test_the_same_pixels_as_torchvision(size: int, resize: int, fit: str, crops: str, interpolation: str) -> None:
    preparation = Preparation(size, resize, fit, crops, interpolation)  # type: ignore[arg-type]
    cut, _ = peer(preparation)
    for width, height in SIZES:
        image = photo(width, height)
        theirs = np.stack([np.asarray(crop) for crop in cut(image)])
        assert np.array_equal(preparation.pixels(image), theirs), (width, height)


@pytest.mark.parametrize("crops", ["centre", "ten"])
@pytest.mark.parametrize(
    ("mean", "std"),
    [((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), ((0.5,) * 3, (0.5,) * 3), ((0.0,) * 3, (1 / 255,) * 3)],
)
def test_the_same_tensor_as_torchvision(
    mean: tuple[float, float, float], std: tuple[float, float, float], crops: str
) -> None:
    preparation = Preparation(32, 36, crops=crops, mean=mean, std=std)  # type: ignore[arg-type]
    cut, scale = peer(preparation)
    image = photo(50, 61)
    expected = torch.stack([scale(crop) for crop in cut(image)]).numpy()
    np.testing.assert_allclose(preparation(image), expected, rtol=1e-6, atol=1e-6)


def test_pixels_can_be_shared_with_pytorch() -> None:
    preparation = Preparation(32, 36)
    assert torch.from_numpy(preparation.pixels(photo(40, 40))).shape == (1, 32, 32, 3)
    assert torch.from_numpy(preparation(photo(40, 40))).shape == (1, 3, 32, 32)
