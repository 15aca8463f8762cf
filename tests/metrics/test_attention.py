"""Attention on the things that words name."""

import numpy as np
import pytest

from seetell.data import Box
from seetell.metrics.attention import Named, looks_at_what_it_names, named_things

DOG = Box("dog", 0.0, 0.0, 0.5, 0.5)  # the upper left quarter
WORDS = ["a", "dog", "by", "trees"]


def looking_at(*cells: int) -> np.ndarray:
    return np.eye(16)[list(cells)]


def test_a_word_is_measured_on_its_own_thing() -> None:
    found = named_things(WORDS, looking_at(15, 0, 15, 15), [DOG])
    assert found == [Named("dog", 1.0, 0.25)]
    assert named_things(WORDS, looking_at(0, 15, 0, 0), [DOG]) == [Named("dog", 0.0, 0.25)]
    assert named_things(WORDS, np.full((4, 16), 1 / 16), [DOG]) == [Named("dog", 0.25, 0.25)]


def test_cells_count_by_the_share_that_is_covered_and_boxes_once() -> None:
    half = Box("tree", 0.0, 0.0, 0.125, 0.25)  # half of the first of 4 × 4 cells
    found = named_things(WORDS, looking_at(0, 0, 0, 0), [half, half])
    assert found == [Named("trees", pytest.approx(0.5), pytest.approx(0.5 / 16))]


def test_the_grid_lies_over_what_the_network_saw() -> None:
    view = (0.25, 0.0, 0.75, 1.0)  # of the dog only the right half is in view
    found = named_things(["dog"], looking_at(0), [DOG], view)
    assert found == [Named("dog", 1.0, 0.25)]
    assert named_things(["dog"], looking_at(2), [DOG], view) == [Named("dog", 0.0, 0.25)]
    assert named_things(["dog"], looking_at(0), [Box("dog", 0.8, 0.0, 1.0, 1.0)], view) == []


def test_the_summary() -> None:
    assert looks_at_what_it_names([]) == {}
    summary = looks_at_what_it_names([Named("dog", 0.6, 0.1), Named("cat", 0.2, 0.3)])
    assert summary == pytest.approx({"attention_on_things": 40.0, "things_area": 20.0, "attention_gain": 2.0})
