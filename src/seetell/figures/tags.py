"""Contact sheets of tags: images with their true and their predicted labels (Ren, Tables 4 and 5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PIL import Image

from seetell.figures.sheet import Cell, contact_sheet

RIGHT, WRONG = (52, 168, 83), (217, 48, 37)


@dataclass(frozen=True)
class TaggedImage:
    """An image with its labels.

    Args:
        open: reads the image.
        labels: the true ones.
        predicted: the tagger's, in its order.
    """

    open: Callable[[], Image.Image]
    labels: Sequence[str]
    predicted: Sequence[str]


def tag_sheet(tagged: Sequence[TaggedImage], title: str, *, columns: int = 4) -> Image.Image:
    """One sheet, with green frames around images with exactly the right labels and red ones around the others."""
    return contact_sheet([_cell(one) for one in tagged], columns=columns, title=title)


def _cell(one: TaggedImage) -> Cell:
    right = set(one.labels) == set(one.predicted)
    lines = [] if right else [f"labels: {', '.join(one.labels) or 'none'}"]
    return Cell(one.open(), ", ".join(one.predicted) or "nothing", lines, RIGHT if right else WRONG)
