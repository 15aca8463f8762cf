"""Random crops and mirroring, for training from images (Ren, section 4.2)."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from seetell.images import Preparation

RESAMPLING = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


def random_pixels(image: Image.Image, preparation: Preparation, random: np.random.Generator) -> NDArray[np.uint8]:
    """A random view of an image for training: H × W × 3, not yet scaled.

    Resized as for evaluation, then cropped to a random square, which is mirrored half of the time. Where evaluation
    resizes to the size of its square, the image is made an eighth larger first, so that crops differ.
    """
    size = preparation.size
    target = max(preparation.resize, round(size * 9 / 8))
    if preparation.fit == "squash":
        width = height = target
    else:
        share = target / min(image.size)
        width, height = (max(target, round(side * share)) for side in image.size)
    resized = image.resize((width, height), RESAMPLING[preparation.interpolation])
    left, top = int(random.integers(width - size + 1)), int(random.integers(height - size + 1))
    square = resized.crop((left, top, left + size, top + size))
    return np.array(ImageOps.mirror(square) if random.random() < 0.5 else square)
