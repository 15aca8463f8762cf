"""What the models say of an image as the page shows it: each word with the light it casts on the image."""

from math import isqrt

import numpy as np
from pydantic import BaseModel

from seetell.runtime import Caption, Model
from seetell.text import detokenise


class Word(BaseModel):
    """A word of a caption; `space` says whether one stands before it."""

    text: str
    space: bool
    probability: float
    gate: float | None = None
    light: list[float] | None = None
    """How much the model looked at each cell of the grid, row by row from the top left; the brightest has 1."""
    where: str = ""
    """Where the light is, in words."""


class Told(BaseModel):
    """A caption with its attention. The grid is `side` × `side` and covers `box` of the image: left, top, right and
    bottom in fractions of its sides."""

    caption: str = ""
    uncertain: bool = False
    """It then begins with "perhaps", which is not among the words."""
    words: list[Word] = []
    attention: bool = False
    side: int = 0
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)


def told(caption: Caption, model: Model, size: tuple[int, int]) -> Told:
    """A caption of an image of this width and height."""
    words: list[Word] = []
    before = ""
    for place, token in enumerate(caption.words):
        now = detokenise(caption.words[: place + 1])
        piece = now[len(before) :]
        word = Word(
            text=piece.strip() or token,
            space=piece.startswith(" "),
            probability=float(np.exp(caption.word_log_probabilities[place])),
            gate=None if caption.gate is None else float(np.mean(caption.gate[place])),
        )
        if caption.attention is not None:
            weights = caption.attention[place].astype(np.float64)
            word.light = [round(float(each), 3) for each in weights / max(float(weights.max()), 1e-12)]
            word.where = where(weights)
        words.append(word)
        before = now
    seen = caption.attention is not None and isqrt(caption.attention.shape[1]) ** 2 == caption.attention.shape[1]
    return Told(
        caption=caption.hedged,
        uncertain=caption.uncertain,
        words=words,
        attention=seen,
        side=isqrt(caption.attention.shape[1]) if caption.attention is not None and seen else 0,
        box=model.preparation.visible_box(size),
    )


def where(weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    """Where the middle of the weights of a square grid (L,) lies, for those who cannot see it; "all over" if they are
    spread out evenly, so that the middle means nothing."""
    side = isqrt(len(weights))
    share = weights / max(float(weights.sum()), 1e-12)
    if side < 2 or side * side != len(weights) or float(share.max()) < 1.5 / len(weights):
        return "all over"
    places = (np.arange(side) + 0.5) / side
    # Of squares, so that what is dim all over does not draw the middle inwards.
    bright = share.reshape(side, side) ** 2
    bright /= bright.sum()
    down, across = float(bright.sum(axis=1) @ places), float(bright.sum(axis=0) @ places)
    row = "top" if down < 0.38 else "bottom" if down > 0.62 else ""
    column = "left" if across < 0.38 else "right" if across > 0.62 else ""
    return " ".join(filter(None, (row, column))) or "centre"
