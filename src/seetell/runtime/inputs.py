"""What counts as an image: paths, encoded bytes, open files, Pillow images, arrays, and the images of datasets."""

import os
from collections.abc import Iterable

import numpy as np
from PIL import Image

from seetell.data import ImageSource
from seetell.images import Source, is_open_file, read_open_file

ImageLike = Source | ImageSource
"""One image."""

ImagesLike = ImageLike | Iterable[ImageLike]
"""One image, or several."""

NamedImage = tuple[str, Source | ImageSource]
"""An image and its name in results and errors."""


def several_images(images: ImagesLike) -> Iterable[ImageLike] | None:
    """The images of an iterable; None for a single image (text, arrays and open files could be iterated, too)."""
    if isinstance(images, str | bytes | bytearray | memoryview | os.PathLike | Image.Image | np.ndarray):
        return None
    if is_open_file(images):
        return None
    return images if isinstance(images, Iterable) else None


def name_image(image: object, index: int | None = None) -> NamedImage:
    """Pair an image with its name: its path, or else its number.

    Open files are read here, in the thread that iterates, because they cannot be shared between threads.

    Args:
        image: anything that `ImageLike` allows; other types are refused with a TypeError.
        index: its index among several images; None for a single one.
    """
    number = "image" if index is None else f"image {index + 1}"
    if isinstance(image, str | os.PathLike):
        return os.fspath(image), image
    if isinstance(image, bytes | bytearray | memoryview):
        return number, bytes(image)
    if isinstance(image, np.ndarray):
        return number, image
    if isinstance(image, Image.Image):
        return str(getattr(image, "filename", "")) or number, image
    if is_open_file(image):
        name = getattr(image, "name", None)
        return name if isinstance(name, str) and name else number, read_open_file(image)
    if hasattr(image, "read") and hasattr(image, "name"):
        source: ImageSource = image
        return str(image.name), source
    raise TypeError(
        f"an image is a path, bytes, an open binary file, a Pillow image or an array, not {type(image).__name__}"
    )
