"""Contact sheets: images in a grid, each with lines of text below it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from seetell.files import replacing

INK, PALE, PAPER = (28, 28, 30), (110, 110, 118), (255, 255, 255)
GAP = 14


@dataclass(frozen=True)
class Cell:
    """One image of a sheet.

    Args:
        heading: in dark type above the other lines: a caption, a file name.
        lines: further text; long lines are wrapped.
        frame: the colour of a frame around the image, to mark it as right or wrong.
    """

    image: Image.Image
    heading: str = ""
    lines: Sequence[str] = field(default_factory=tuple)
    frame: tuple[int, int, int] | None = None


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font, so that a sheet looks the same on every machine."""
    return ImageFont.load_default(size)


def wrapped(text: str, width: int, size: int) -> list[str]:
    """Break text into lines of at most `width` pixels."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font(size).getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def contact_sheet(cells: Sequence[Cell], *, columns: int = 4, width: int = 260, title: str = "") -> Image.Image:
    """Lay out cells in rows, each as high as its tallest cell."""
    rendered = [_cell(cell, width) for cell in cells]
    columns = max(1, min(columns, len(cells)))
    rows = [rendered[start : start + columns] for start in range(0, len(rendered), columns)]
    top = GAP + (36 if title else 0)
    height = top + sum(max(cell.height for cell in row) + GAP for row in rows)
    sheet = Image.new("RGB", (GAP + columns * (width + GAP), height), PAPER)
    if title:
        ImageDraw.Draw(sheet).text((GAP, GAP), title, fill=INK, font=font(22))
    y = top
    for row in rows:
        for column, cell in enumerate(row):
            sheet.paste(cell, (GAP + column * (width + GAP), y))
        y += max(cell.height for cell in row) + GAP
    return sheet


def _cell(cell: Cell, width: int) -> Image.Image:
    image = ImageOps.contain(cell.image.convert("RGB"), (width, width))
    heading = wrapped(cell.heading, width, 15)
    lines = [part for line in cell.lines for part in wrapped(line, width, 13)]
    canvas = Image.new("RGB", (width, image.height + 8 + 19 * len(heading) + 17 * len(lines)), PAPER)
    canvas.paste(image, ((width - image.width) // 2, 0))
    draw = ImageDraw.Draw(canvas)
    if cell.frame is not None:
        left = (width - image.width) // 2
        draw.rectangle((left, 0, left + image.width - 1, image.height - 1), outline=cell.frame, width=4)
    y = image.height + 6
    for line in heading:
        draw.text((0, y), line, fill=INK, font=font(15))
        y += 19
    for line in lines:
        draw.text((0, y), line, fill=PALE, font=font(13))
        y += 17
    return canvas


def save_image(image: Image.Image, path: Path) -> None:
    """Write a PNG atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        image.save(part, format="PNG")
