"""Captions with attention, as the page shows them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seetell.runtime import Caption, open_model
from seetell.text import detokenise
from seetell.web.captions import attention_region, caption_with_attention


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
def test_words_and_spaces_join_to_the_caption(bundle: Path, words: tuple[str, ...]) -> None:
    with open_model(bundle) as model:
        response = caption_with_attention(caption(words), model, (60, 40))
    joined = "".join((" " if word.space_before else "") + word.text for word in response.words)
    assert joined == response.caption == detokenise(words)
    assert not response.has_attention
    assert all(word.probability == pytest.approx(0.5) for word in response.words)


def test_uncertain_captions_are_marked(bundle: Path) -> None:
    with open_model(bundle) as model:
        uncertain = replace(caption(("a", "bird")), similarity=0.1, uncertain=True)
        response = caption_with_attention(uncertain, model, (60, 40))
    assert response.uncertain
    assert response.caption == "perhaps a bird"
    assert [word.text for word in response.words] == ["a", "bird"]


def test_attention_that_is_not_square_has_no_grid(bundle: Path) -> None:
    with open_model(bundle) as model:
        response = caption_with_attention(caption(("a", "bird"), np.full((2, 6), 1 / 6, "f4")), model, (60, 40))
    assert (response.has_attention, response.grid_size) == (False, 0)


@pytest.mark.parametrize(
    ("row", "column", "region"),
    [
        *((0, 0, "top left"), (0, 4, "top"), (0, 8, "top right"), (4, 0, "left"), (4, 4, "centre")),
        *((4, 8, "right"), (8, 0, "bottom left"), (8, 4, "bottom"), (8, 8, "bottom right")),
    ],
)
def test_region_of_the_attention(row: int, column: int, region: str) -> None:
    weights = np.full((9, 9), 0.002)
    weights[row, column] = 0.5
    assert attention_region(weights.ravel()) == region


def test_even_attention_is_everywhere() -> None:
    assert attention_region(np.full(81, 1 / 81)) == "everywhere"
    assert attention_region(np.ones(1)) == "everywhere"
