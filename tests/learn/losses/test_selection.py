"""Negative selection against the definitions, a triplet at a time."""

import pytest
import torch

from seetell.learn.losses.selection import (
    SELECTIONS,
    All,
    HardAndSemiHard,
    HardestAnchor,
    HardOnly,
    KHardest,
    SemiHardOnly,
)

MARGIN = 0.25
# Powers of two, so that "exactly at the margin" is exact: easy, at the margin, semi-hard, tie, hard, harder.
GAPS = torch.tensor([[-1.0, -0.25, -0.125, 0.0, 0.125, 1.0], [1.0, 0.5, 0.0, -0.25, -0.5, -1.0]])
EVERYONE = torch.ones(2, 6, dtype=torch.bool)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (All(), [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]]),
        (HardAndSemiHard(), [[0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]),
        (HardOnly(), [[0, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 0]]),
        (SemiHardOnly(), [[0, 0, 1, 1, 0, 0], [0, 0, 1, 0, 0, 0]]),
        (KHardest(1), [[0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]]),
        (KHardest(3), [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]]),
        (KHardest(10), [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]]),
        (HardestAnchor(), [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]]),
    ],
    ids=str,
)
def test_which_triplets_are_picked(selection: All, expected: list[list[int]]) -> None:
    assert selection(GAPS, EVERYONE, MARGIN).int().tolist() == expected


@pytest.mark.parametrize("name", SELECTIONS)
def test_only_negatives_are_picked(name: str) -> None:
    negatives = torch.tensor([[1, 1, 1, 0, 1, 0], [0, 0, 0, 0, 0, 0]]).bool()
    selected = SELECTIONS[name]()(GAPS, negatives, MARGIN)
    assert not (selected & ~negatives).any()


def test_k_hardest_takes_the_next_where_the_hardest_is_no_negative() -> None:
    negatives = torch.tensor([[1, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0]]).bool()
    assert KHardest(2)(GAPS, negatives, MARGIN).int().tolist() == [[0, 0, 0, 1, 1, 0], [0, 1, 0, 0, 0, 0]]


def test_the_hardest_anchor_is_one_whose_negative_the_candidate_is() -> None:
    negatives = torch.tensor([[1, 1, 1, 0, 0, 1], [0, 1, 0, 1, 0, 1]]).bool()
    assert HardestAnchor()(GAPS, negatives, MARGIN).int().tolist() == [[1, 0, 1, 0, 0, 1], [0, 1, 0, 1, 0, 0]]


def test_ties_still_give_exactly_k() -> None:
    assert KHardest(2)(torch.zeros(3, 5), torch.ones(3, 5, dtype=torch.bool), MARGIN).sum(1).tolist() == [2, 2, 2]


def test_none_is_no_number_of_negatives() -> None:
    with pytest.raises(ValueError, match="at least one"):
        KHardest(0)
