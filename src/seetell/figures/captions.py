"""Contact sheets of captions: the best, the worst, and random ones, with their references and scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from seetell.figures.sheet import Cell, contact_sheet


@dataclass(frozen=True)
class CaptionExample:
    """A caption, its references, and its score.

    Args:
        open: reads the image if it is one of those shown.
        caption: the generated caption.
        references: written by people.
        score: of this image, by any metric; higher is better.
    """

    open: Callable[[], Image.Image]
    caption: str
    references: Sequence[str]
    score: float


def caption_sheets(
    captioned: Sequence[CaptionExample], *, count: int = 12, metric: str = "CIDEr", seed: int = 1, columns: int = 4
) -> dict[str, Image.Image]:
    """Three sheets, called "best", "worst" and "random", of `count` images each."""
    order = np.argsort([-one.score for one in captioned], kind="stable")
    drawn = np.random.default_rng(seed).permutation(len(captioned))
    chosen = {"best": order[:count], "worst": order[::-1][:count], "random": drawn[:count]}
    titles = {"best": "Best", "worst": "Worst", "random": "Random"}
    return {
        name: contact_sheet(
            [_cell(captioned[index], metric) for index in indices],
            columns=columns,
            title=f"{titles[name]} of {len(captioned):,} captions by {metric}",
        )
        for name, indices in chosen.items()
    }


def _cell(one: CaptionExample, metric: str) -> Cell:
    return Cell(one.open(), one.caption, [f"{metric} {one.score:.1f}", *(f"- {text}" for text in one.references)])
