"""Any kind of pixels into RGB with 8 bits a channel: grey, palette, alpha, CMYK, 16 and 32 bits, arrays.

Pillow's own `convert("RGB")` is right for most modes, but clips everything deeper than 8 bits (a 16-bit grey image
comes out white) and drops the alpha channel, which uncovers whatever colour is stored under transparent pixels.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def to_rgb(image: Image.Image) -> Image.Image:
    """A new RGB image with the same content, carrying no metadata; `image` itself is loaded but not changed."""
    if image.mode.startswith("I") or image.mode == "F":
        rgb = Image.fromarray(_deep_grey_to_8_bits(image)).convert("RGB")
    elif image.has_transparency_data:
        rgb = _on_white(image)
    else:
        rgb = image.convert("RGB")
    rgb.info = {}  # an orientation or a transparent colour left behind would be applied a second time
    return rgb


def from_array(array: NDArray[Any]) -> Image.Image:
    """The RGB image in an array: height × width (grey), or that × 1, 3 (RGB) or 4 (RGBA).

    uint8 and uint16 use their whole range. Floating-point values must lie in [0, 1]: guessing that 0 to 255 was meant
    would make a wrong image of a mistake.

    Raises:
        ValueError: the array cannot be an image; the message says why.
    """
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))):
        shape = " × ".join(map(str, array.shape))
        raise ValueError(f"the array is {shape}, but an image is height × width, alone or × 1, 3 or 4 channels")
    if array.size == 0:
        raise ValueError("the array is empty")
    if np.issubdtype(array.dtype, np.uint16):  # in either byte order
        array = _16_to_8_bits(array)
    elif np.issubdtype(array.dtype, np.floating):
        half_a_step = 0.5 / 255  # what rounds to 0 or to 255 anyway is only rounding error
        if not (array.min() >= -half_a_step and array.max() <= 1 + half_a_step):  # so written, NaN fails too
            raise ValueError(f"the array's values go from {array.min():.4g} to {array.max():.4g}, not from 0 to 1")
        array = _stretch(array, 0.0, 1.0)
    elif array.dtype != np.uint8:
        raise ValueError(f"the array holds {array.dtype}, but pixels are uint8, uint16 or floating-point from 0 to 1")
    return to_rgb(Image.fromarray(np.ascontiguousarray(array)))


def _on_white(image: Image.Image) -> Image.Image:
    # White, because that is the page that cut-outs, logos and drawings with transparency are made for and shown on;
    # black would swallow dark drawings, and the colour stored under a transparent pixel is arbitrary.
    if image.mode == "La":  # premultiplied grey: Pillow knows one way out of it
        image = image.convert("LA")
    rgba = image if image.mode == "RGBA" else image.convert("RGBA")
    canvas = Image.new("RGB", image.size, "white")
    canvas.paste(rgba, mask=rgba)
    return canvas


def _deep_grey_to_8_bits(image: Image.Image) -> NDArray[np.uint8]:
    """Grey of 16 or 32 bits, integer or floating-point.

    16 bits have a white: 65,535. 32 bits do not, so the range is inferred from the values: the narrowest of the usual
    ranges that contains them (0 to 1 for floating-point, 8 bits, 16 bits), or else darkest to brightest.
    """
    image.load()
    values = np.asarray(image)
    if image.mode.startswith("I;16"):
        return _16_to_8_bits(values)
    if image.mode == "I" and image.format == "PNG":  # how Pillow opened 16-bit grey PNGs before version 11
        return _stretch(values, 0.0, 65535.0)
    finite = np.isfinite(values)
    if not finite.all():  # measurements mark missing points with NaN or infinity
        values = np.where(finite, values, values[finite].min() if finite.any() else 0)
    darkest, brightest = float(values.min()), float(values.max())
    for white in (1.0, 255.0, 65535.0) if image.mode == "F" else (255.0, 65535.0):
        if darkest >= 0 and brightest <= white:
            return _stretch(values, 0.0, white)
    return _stretch(values, darkest, brightest)


def _16_to_8_bits(values: NDArray[Any]) -> NDArray[np.uint8]:
    # 65,535 = 255 · 257; adding half of 257 rounds to the nearest.
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)


def _stretch(values: NDArray[Any], black: float, white: float) -> NDArray[np.uint8]:
    if white == black:
        return np.zeros(values.shape, np.uint8)
    unit = (values.astype(np.float64) - black) / (white - black)
    scaled: NDArray[np.uint8] = np.rint(unit.clip(0, 1) * 255).astype(np.uint8)
    return scaled
