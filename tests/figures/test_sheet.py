"""Contact sheets hold every image and all the text."""

from pathlib import Path

import numpy as np
from PIL import Image

from seetell.figures.sheet import PAPER, Cell, contact_sheet, font, save_image, wrapped

RED, BLUE = (200, 0, 0), (0, 0, 200)


def has(image: Image.Image, colour: tuple[int, int, int]) -> bool:
    return bool((np.asarray(image) == colour).all(axis=2).any())


def test_every_image_is_on_the_sheet() -> None:
    colours = [(10 * i, 80, 200 - 10 * i) for i in range(7)]
    sheet = contact_sheet([Cell(Image.new("RGB", (50, 40), c), f"thing {i}") for i, c in enumerate(colours)], columns=3)
    assert all(has(sheet, colour) for colour in colours)
    assert sheet.height > sheet.width * 0.5  # three rows


def test_images_of_any_shape_fit_their_cell() -> None:
    sheet = contact_sheet([Cell(Image.new("RGB", (1000, 10), RED)), Cell(Image.new("L", (10, 1000), 0))], width=100)
    assert sheet.width == 3 * 14 + 200
    assert has(sheet, RED)


def test_lines_are_wrapped_to_the_width_and_lose_no_word() -> None:
    text = "two brown dogs run along a very long beach beside an incomprehensibilities"
    lines = wrapped(text, 120, 13)
    assert " ".join(lines) == text
    assert all(font(13).getlength(line) <= 120 for line in lines if " " in line)


def test_a_longer_text_makes_a_taller_sheet() -> None:
    image = Image.new("RGB", (40, 40), BLUE)
    assert contact_sheet([Cell(image, "a", ["b " * 200])]).height > contact_sheet([Cell(image, "a", ["b"])]).height


def test_frame_and_title_are_drawn() -> None:
    image = Image.new("RGB", (40, 40), BLUE)
    assert has(contact_sheet([Cell(image, frame=RED)]), RED)
    plain, titled = contact_sheet([Cell(image)]), contact_sheet([Cell(image)], title="Results")
    assert titled.height > plain.height
    assert (np.asarray(titled)[:40] != PAPER).any()


def test_saved_in_one_step(tmp_path: Path) -> None:
    save_image(Image.new("RGB", (4, 4), RED), tmp_path / "deep" / "sheet.png")
    assert Image.open(tmp_path / "deep" / "sheet.png").getpixel((0, 0)) == RED
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["sheet.png"]
