"""Contact sheets of tags: images with the labels they have and the labels they were given (Ren, Tables 4 and 5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PIL import Image

from seetell.figures.sheet import Cell, contact_sheet

RIGHT, WRONG = (52, 168, 83), (217, 48, 37)


@dataclass(frozen=True)
class TaggedImage:
    """Args:
    open: reads the image.
    labels: that it has.
    told: that it was given, in the tagger's order.
    """

    open: Callable[[], Image.Image]
    labels: Sequence[str]
    told: Sequence[str]


def tag_sheet(tagged: Sequence[TaggedImage], title: str, *, columns: int = 4) -> Image.Image:
    """One sheet, with a green frame around images whose labels are all right and a red one around the others."""
    return contact_sheet([_cell(one) for one in tagged], columns=columns, title=title)


def _cell(one: TaggedImage) -> Cell:
    right = set(one.labels) == set(one.told)
    lines = [] if right else [f"labels: {', '.join(one.labels) or 'none'}"]
    return Cell(one.open(), ", ".join(one.told) or "nothing", lines, RIGHT if right else WRONG)
