"""Attention overlays are bright where the attention was, and nowhere else."""

import numpy as np
import pytest
from PIL import Image

from seetell.figures.attention import DARK, AttendedCaption, attention_sheet, light, overlay


def at(cell: int, cells: int = 81) -> np.ndarray:
    weights = np.zeros(cells)
    weights[cell] = 1.0
    return weights


@pytest.mark.parametrize(("row", "column"), [(0, 0), (4, 7), (8, 3)])
def test_the_light_is_where_the_cell_is(row: int, column: int) -> None:
    lit = light(at(9 * row + column), (270, 180))
    y, x = np.unravel_index(lit.argmax(), lit.shape)
    assert lit.shape == (180, 270)
    assert lit.max() == 1
    assert (y * 9 // 180, x * 9 // 270) == (row, column)
    assert lit[(row + 4) % 9 * 20 + 10, (column + 4) % 9 * 30 + 15] < 0.01  # far away it is dark


def test_light_is_smooth_and_keeps_the_centre_of_what_was_looked_at() -> None:
    lit = light(at(40), (180, 180))
    assert np.abs(np.diff(lit, axis=0)).max() < 0.15  # nearest neighbours alone would jump by 1
    ys, xs = np.mgrid[0:180, 0:180] + 0.5
    assert (lit * ys).sum() / lit.sum() == pytest.approx(90, abs=1)
    assert (lit * xs).sum() / lit.sum() == pytest.approx(90, abs=1)


def test_the_grid_covers_only_what_the_network_saw() -> None:
    box = (0.25, 0.0, 0.75, 1.0)
    lit = light(at(0, 16), (400, 200), box)
    _, x = np.unravel_index(lit.argmax(), lit.shape)
    assert 100 <= x < 150
    even = overlay(Image.new("RGB", (400, 200), (250, 250, 250)), np.full(16, 1 / 16), box)
    assert even.getpixel((200, 100)) == (250, 250, 250)
    assert even.getpixel((5, 100)) == (round(250 * DARK),) * 3


def test_even_attention_darkens_nothing_and_none_everything() -> None:
    image = Image.new("RGB", (90, 90), (200, 100, 50))
    assert overlay(image, np.full(81, 1 / 81)).getpixel((45, 45)) == (200, 100, 50)
    assert overlay(image, np.zeros(81)).getpixel((45, 45)) == (40, 20, 10)


def test_a_sheet_has_a_panel_a_word_for_each_caption() -> None:
    image = Image.new("RGB", (60, 60), (0, 200, 0))
    soft = AttendedCaption(["a", "dog", "runs"], np.stack([at(0), at(40), at(80)]), np.array([0.1, 0.9, 0.5]), "soft")
    hard = AttendedCaption(["a", "dog"], np.stack([at(0), at(40)]), name="hard")
    one, both = attention_sheet(image, [soft], columns=4), attention_sheet(image, [soft, hard], columns=4)
    assert both.height > 1.5 * one.height
    assert np.array_equal(np.asarray(both)[: one.height, : one.width], np.asarray(one))
    wide = attention_sheet(image, [soft], columns=2)
    assert wide.height > one.height  # four panels in two rows


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="2 words"):
        AttendedCaption(["a", "dog"], np.zeros((3, 81)))
    with pytest.raises(ValueError, match="square"):
        AttendedCaption(["a"], np.zeros((1, 80)))
