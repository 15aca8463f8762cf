"""Whether a captioner attends to what it names: a word's attention on the object, relative to the object's area.

For a word that names an object with known boxes, the attention on the object is

    Σ_i α_i · (share of cell i that the object's boxes cover)

and by chance it would be the share of the whole view that they cover. The quotient of the two, over many words, is 1
for a captioner that attends at random.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seetell.data import Box

_FINE = 16  # each cell is sampled at this many by this many points


@dataclass(frozen=True, slots=True)
class Named:
    """A word that names an object: the attention on the object, and the object's share of the view."""

    word: str
    attention: float
    area: float


def named_things(
    words: Sequence[str],
    attention: NDArray[Any],
    boxes: Sequence[Box],
    view: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0),
) -> list[Named]:
    """The words of a caption that name objects, in the singular or with an s, and the attention on these objects.

    Args:
        words: of the caption, each with a row of `attention` (words, L), L a square number.
        boxes: of objects, in fractions of the image.
        view: the part of the image that the network saw (`Preparation.visible_box`).
    """
    found = []
    side = isqrt(attention.shape[1])
    for word, weights in zip(words, attention, strict=True):
        mine = [box for box in boxes if word in (box.label, f"{box.label}s")]
        if mine:
            covered = _coverage(mine, view, side)
            if covered.any():  # an object outside the view cannot be attended to
                found.append(Named(word, float(weights @ covered), float(covered.mean())))
    return found


def looks_at_what_it_names(named: Iterable[Named]) -> dict[str, float]:
    """`attention_on_things` and `things_area` in per cent, means over words, and `attention_gain`, their quotient."""
    listed = list(named)
    if not listed:
        return {}
    attention, area = (float(np.mean([getattr(one, name) for one in listed])) for name in ("attention", "area"))
    return {"attention_on_things": 100 * attention, "things_area": 100 * area, "attention_gain": attention / area}


def _coverage(boxes: Sequence[Box], view: tuple[float, float, float, float], side: int) -> NDArray[np.float64]:
    """The share of each cell of the grid, row by row, that any of the boxes covers."""
    left, top, right, bottom = view
    points = (np.arange(side * _FINE) + 0.5) / (side * _FINE)
    x, y = left + points * (right - left), top + points * (bottom - top)
    inside = np.zeros((len(y), len(x)), dtype=bool)
    for box in boxes:
        inside |= ((box.top <= y) & (y < box.bottom))[:, None] & ((box.left <= x) & (x < box.right))[None, :]
    covered: NDArray[np.float64] = inside.reshape(side, _FINE, side, _FINE).mean(axis=(1, 3)).ravel()
    return covered
