"""Random crops and mirror images."""

import numpy as np
import pytest
from PIL import Image

from seetell.images import Preparation
from seetell.learn.training.augmentation import random_pixels

PREPARATION = Preparation(size=32, resize=36)


def ramp(width: int, height: int) -> Image.Image:
    """Red grows from left to right, green from top to bottom."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = np.linspace(0, 255, width)
    pixels[..., 1] = np.linspace(0, 255, height)[:, None]
    return Image.fromarray(pixels)


@pytest.mark.parametrize("size", [(36, 36), (90, 40), (40, 90), (8, 8), (33, 500)])
@pytest.mark.parametrize("preparation", [PREPARATION, Preparation(size=32, resize=32, fit="squash")])
def test_always_a_square_of_the_right_size(size: tuple[int, int], preparation: Preparation) -> None:
    for seed in range(5):
        pixels = random_pixels(ramp(*size), preparation, np.random.default_rng(seed))
        assert pixels.shape == (32, 32, 3)
        assert pixels.dtype == np.uint8


def test_the_same_generator_gives_the_same_pixels_and_others_differ() -> None:
    image = ramp(80, 60)
    one, again, other = (random_pixels(image, PREPARATION, np.random.default_rng(s)) for s in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_half_are_mirrored_and_none_upside_down() -> None:
    mirrored = 0
    for seed in range(400):
        pixels = random_pixels(ramp(60, 60), PREPARATION, np.random.default_rng(seed)).astype(int)
        mirrored += pixels[16, 0, 0] > pixels[16, -1, 0]
        assert pixels[0, 16, 1] < pixels[-1, 16, 1]
    assert mirrored == pytest.approx(200, abs=50)


def test_squares_come_from_everywhere() -> None:
    image = ramp(108, 36)  # red says where a square begins: 0 … 2/3 of the width
    starts = [
        min(int(pixels[0, 0, 0]), int(pixels[0, -1, 0]))
        for pixels in (random_pixels(image, PREPARATION, np.random.default_rng(s)) for s in range(200))
    ]
    assert min(starts) < 15
    assert max(starts) > 160
