"""Captions as the page shows them: each word with the attention behind it."""

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from seetell.runtime import Caption, Model
from seetell.text import detokenise
from seetell.web.schemas import CaptionResponse, WordResponse


def caption_with_attention(caption: Caption, model: Model, size: tuple[int, int]) -> CaptionResponse:
    """Convert a caption to a response.

    Args:
        model: the model that wrote it.
        size: width and height of the image.
    """
    grid_size = _grid_size(caption)
    return CaptionResponse(
        caption=caption.hedged,
        uncertain=caption.uncertain,
        words=_words(caption),
        has_attention=grid_size > 0,
        grid_size=grid_size,
        box=model.preparation.visible_box(size),
    )


def attention_region(weights: NDArray[np.float64]) -> str:
    """Describe in words where the attention to a square grid (L,) is centred, for people who cannot see it.

    Returns:
        "top left", "centre", …; "everywhere" if the weights are so even that their centre means nothing.
    """
    side = isqrt(len(weights))
    share = weights / max(float(weights.sum()), 1e-12)
    if side < 2 or side * side != len(weights) or float(share.max()) < 1.5 / len(weights):
        return "everywhere"
    centres = (np.arange(side) + 0.5) / side
    # Squared, so that low weights everywhere do not pull the centre of mass towards the middle.
    mass = share.reshape(side, side) ** 2
    mass /= mass.sum()
    y, x = float(mass.sum(axis=1) @ centres), float(mass.sum(axis=0) @ centres)
    row = "top" if y < 0.38 else "bottom" if y > 0.62 else ""
    column = "left" if x < 0.38 else "right" if x > 0.62 else ""
    return " ".join(filter(None, (row, column))) or "centre"


def _grid_size(caption: Caption) -> int:
    """Rows and columns of the attention grid; 0 without attention, or if it is not a square."""
    if caption.attention is None:
        return 0
    cells = caption.attention.shape[1]
    return isqrt(cells) if isqrt(cells) ** 2 == cells else 0


def _words(caption: Caption) -> list[WordResponse]:
    words: list[WordResponse] = []
    before = ""
    for index, token in enumerate(caption.words):
        text = detokenise(caption.words[: index + 1])
        piece = text[len(before) :]
        word = WordResponse(
            text=piece.strip() or token,
            space_before=piece.startswith(" "),
            probability=float(np.exp(caption.word_log_probabilities[index])),
            gate=None if caption.gate is None else float(np.mean(caption.gate[index])),
        )
        if caption.attention is not None:
            weights = caption.attention[index].astype(np.float64)
            scaled = weights / max(float(weights.max()), 1e-12)
            word.attention = [round(float(each), 3) for each in scaled]
            word.region = attention_region(weights)
        words.append(word)
        before = text
    return words
