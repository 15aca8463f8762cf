"""Captions as the page shows them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seetell.runtime import Caption, open_model
from seetell.text import detokenise
from seetell.web.captions import told, where


def caption(words: tuple[str, ...], attention: np.ndarray | None = None) -> Caption:
    return Caption(detokenise(words), words, np.log(np.full(len(words) + 1, 0.5)), attention, None, -1.0, -1.0)


@pytest.mark.parametrize(
    "words",
    [
        ("a", "man", "'s", "dog", "does", "n't", "sit", "."),
        ("``", "hello", "''", ",", "he", "says", "(", "twice", ")"),
        ("one",),
    ],
)
def test_words_and_spaces_make_the_caption_again(bundle: Path, words: tuple[str, ...]) -> None:
    with open_model(bundle) as model:
        said = told(caption(words), model, (60, 40))
    again = "".join((" " if word.space else "") + word.text for word in said.words)
    assert again == said.caption == detokenise(words)
    assert not said.attention
    assert all(word.probability == pytest.approx(0.5) for word in said.words)


def test_a_doubtful_caption_says_so(bundle: Path) -> None:
    with open_model(bundle) as model:
        said = told(replace(caption(("a", "bird")), fit=0.1, uncertain=True), model, (60, 40))
    assert said.uncertain
    assert said.caption == "perhaps a bird"
    assert [word.text for word in said.words] == ["a", "bird"]


@pytest.mark.parametrize(
    ("row", "column", "says"),
    [
        *((0, 0, "top left"), (0, 4, "top"), (0, 8, "top right"), (4, 0, "left"), (4, 4, "centre")),
        *((4, 8, "right"), (8, 0, "bottom left"), (8, 4, "bottom"), (8, 8, "bottom right")),
    ],
)
def test_where_the_light_is(row: int, column: int, says: str) -> None:
    weights = np.full((9, 9), 0.002)
    weights[row, column] = 0.5
    assert where(weights.ravel()) == says


def test_light_all_over_is_nowhere() -> None:
    assert where(np.full(81, 1 / 81)) == "all over"
    assert where(np.ones(1)) == "all over"
