"""Where a captioner attended for each word (Xu, Figure 3): one panel per word, bright where the attention was.

The weights of an n × n grid are enlarged to the part of the image that the network saw and smoothed by a Gaussian,
"to emulate the large receptive field" of a cell; the most attended point of each panel has full brightness.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from seetell.figures.sheet import PAPER, Cell, contact_sheet

WHOLE = (0.0, 0.0, 1.0, 1.0)
DARK = 0.2  # the brightness of a cell without attention


@dataclass(frozen=True)
class AttendedCaption:
    """A caption and its attention.

    Args:
        words: the words as displayed.
        attention: the weights of each word (words, L), L a square number.
        gate: how much of the attended features each word used, if the model has a gate.
        name: the heading on a sheet: "soft", "hard".
    """

    words: Sequence[str]
    attention: NDArray[np.floating]
    gate: NDArray[np.floating] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if len(self.attention) != len(self.words):
            raise ValueError(f"{len(self.words)} words, but attention for {len(self.attention)}")
        if self.attention.ndim != 2 or isqrt(self.attention.shape[1]) ** 2 != self.attention.shape[1]:
            raise ValueError(f"attention of shape {self.attention.shape} is not over a square grid")


def light(
    weights: NDArray[np.floating], size: tuple[int, int], box: tuple[float, float, float, float] = WHOLE
) -> NDArray[np.float32]:
    """The weights of a grid as brightness on an image: height × width, from 0 to 1 where there is most.

    Args:
        weights: of the cells, (L,).
        size: width and height of the image.
        box: the part that the network saw, in fractions of the sides (`Preparation.visible_box`).
    """
    side = isqrt(len(weights))
    width, height = size
    left, top, right, bottom = (
        round(edge * length) for edge, length in zip(box, (width, height, width, height), strict=True)
    )
    levels = np.rint(255 * np.asarray(weights, dtype=np.float64) / max(float(np.max(weights)), 1e-12))
    grid = Image.fromarray(levels.astype(np.uint8).reshape(side, side))
    field = Image.new("L", size)
    field.paste(grid.resize((max(1, right - left), max(1, bottom - top)), Image.Resampling.NEAREST), (left, top))
    smooth = np.asarray(field.filter(ImageFilter.GaussianBlur((right - left) / side / 2)), dtype=np.float32)
    return smooth / max(1.0, float(smooth.max()))


def overlay(
    image: Image.Image, weights: NDArray[np.floating], box: tuple[float, float, float, float] = WHOLE
) -> Image.Image:
    """The image, bright where the attention was and dark elsewhere."""
    image = image.convert("RGB")
    bright = DARK + (1 - DARK) * light(weights, image.size, box)[:, :, np.newaxis]
    return Image.fromarray(np.rint(np.asarray(image) * bright).astype(np.uint8))


def attention_sheet(
    image: Image.Image,
    captions: Sequence[AttendedCaption],
    *,
    box: tuple[float, float, float, float] = WHOLE,
    columns: int = 6,
    width: int = 160,
) -> Image.Image:
    """The image and one panel per word, for one caption or for several below each other.

    Args:
        image: an RGB image.
        captions: with their attention.
        box: the part that the network saw (`Preparation.visible_box`).
        columns: how many panels per row.
        width: of a panel in pixels.
    """
    parts = []
    for one in captions:
        cells = [Cell(image, " ".join(one.words))]
        for index, word in enumerate(one.words):
            lines = [] if one.gate is None else [f"gate {one.gate[index]:.2f}"]
            cells.append(Cell(overlay(image, one.attention[index], box), word, lines))
        parts.append(contact_sheet(cells, columns=columns, width=width, title=one.name))
    sheet = Image.new("RGB", (max(part.width for part in parts), sum(part.height for part in parts)), PAPER)
    y = 0
    for part in parts:
        sheet.paste(part, (0, y))
        y += part.height
    return sheet
