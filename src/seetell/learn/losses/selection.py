"""Negative selection: which triplets of a batch a ranking loss looks at (Kolluru, section 3.3).

A triplet is an anchor, a positive and a negative; its gap is s(anchor, negative) − s(anchor, positive). With margin m
a triplet is *easy* where gap ≤ −m (its loss is 0), *hard* where gap > 0 (the negative is nearer than the positive) and
*semi-hard* in between. A tie, gap = 0, is semi-hard: the negative is not nearer, yet there is a loss. (Kolluru's
inequalities leave ties out; a model whose scores are all equal would then have nothing to learn from.)

A selection is called with the gaps (pairs, candidates), one row an (anchor, positive) pair, a mask of the candidates
that are negatives of the row's anchor, and the margin; it answers with a mask of the triplets to use. `reduction` is
how its paper puts their hinges together.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

Reduction = Literal["sum", "mean", "mean_nonzero"]


class Selection(Protocol):
    """Picks triplets."""

    @property
    def reduction(self) -> Reduction: ...

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor: ...


@dataclass(frozen=True)
class All:
    """Every negative of the batch."""

    reduction: Reduction = "sum"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        return negatives


@dataclass(frozen=True)
class HardAndSemiHard:
    """Every triplet that has a loss; averaged over these, so that easy ones do not water the loss down."""

    reduction: Reduction = "mean_nonzero"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        return negatives & (gaps > -margin)


@dataclass(frozen=True)
class HardOnly:
    """Negatives that are nearer to the anchor than the positive is."""

    reduction: Reduction = "mean_nonzero"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        return negatives & (gaps > 0)


@dataclass(frozen=True)
class SemiHardOnly:
    """Negatives that are not nearer than the positive, but within the margin."""

    reduction: Reduction = "mean_nonzero"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        return negatives & (gaps > -margin) & (gaps <= 0)


@dataclass(frozen=True)
class KHardest:
    """The k negatives most like the anchor, easy or not; all of them where there are fewer."""

    k: int = 1
    reduction: Reduction = "sum"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k is {self.k}; at least one negative must be selected")

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        ranked = gaps.masked_fill(~negatives, -torch.inf)
        hardest = ranked.topk(min(self.k, gaps.shape[1]), dim=1).indices
        return torch.zeros_like(negatives).scatter_(1, hardest, True) & negatives


@dataclass(frozen=True)
class HardestAnchor:
    """Of each candidate the one pair it comes nearest to parting: a maximum over anchors, where `KHardest(1)` has one
    over negatives. What equation 4 of Vilalta et al. became in the program they published (docs/papers/vilalta.md).
    """

    reduction: Reduction = "sum"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        hardest = gaps.masked_fill(~negatives, -torch.inf).argmax(0, keepdim=True)
        return torch.zeros_like(negatives).scatter_(0, hardest, True) & negatives


SELECTIONS: dict[str, type[Selection]] = {
    "all": All,
    "hard_and_semi_hard": HardAndSemiHard,
    "hard": HardOnly,
    "semi_hard": SemiHardOnly,
    "k_hardest": KHardest,
    "hardest_anchor": HardestAnchor,
}
