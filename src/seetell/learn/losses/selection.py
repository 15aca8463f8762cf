"""Negative selection: which triplets of a batch a ranking loss uses (Kolluru, section 3.3).

A triplet is an anchor, a positive and a negative; its gap is s(anchor, negative) − s(anchor, positive). With margin m
a triplet is *easy* if gap ≤ −m (its loss is 0), *hard* if gap > 0 (the negative is closer than the positive) and
*semi-hard* in between. A tie, gap = 0, is semi-hard: the negative is not closer, yet there is a loss. (Kolluru's
inequalities leave ties out; a model whose scores are all equal would then have nothing to learn from.)

A selection is called with the gaps (pairs, candidates), one row per (anchor, positive) pair, a mask of the candidates
that are negatives of the row's anchor, and the margin; it returns a mask of the triplets to use. `reduction` is how its
paper combines their hinges. Any such callable can be passed to `TripletLoss`.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from seetell.learn.recipes.loss_settings import Reduction


class Selection(Protocol):
    """Selects triplets."""

    @property
    def reduction(self) -> Reduction: ...

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor: ...


@dataclass(frozen=True)
class All:
    """Every negative of the batch.

    Args:
        reduction: how the loss combines the hinges.

    Example:
        >>> gaps, negatives = torch.tensor([[0.0, 0.3, -0.5]]), torch.tensor([[False, True, True]])
        >>> All()(gaps, negatives, margin=0.1)
        tensor([[False,  True,  True]])
    """

    reduction: Reduction = "sum"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        return negatives


@dataclass(frozen=True)
class HardAndSemiHard:
    """Every triplet with a loss, gap > −m; the loss is their mean, so that easy ones do not dilute it.

    Args:
        reduction: how the loss combines the hinges.

    References:
        Kolluru, section 3.3.

    Example:
        >>> gaps, negatives = torch.tensor([[0.0, 0.3, -0.5]]), torch.tensor([[False, True, True]])
        >>> HardAndSemiHard()(gaps, negatives, margin=0.1)
        tensor([[False,  True, False]])
    """

    reduction: Reduction = "mean_nonzero"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        return negatives & (gaps > -margin)


@dataclass(frozen=True)
class HardOnly:
    """Negatives closer to the anchor than the positive, gap > 0.

    Args:
        reduction: how the loss combines the hinges.

    References:
        Kolluru, section 3.3.

    Example:
        >>> gaps, negatives = torch.tensor([[0.0, 0.3, -0.05]]), torch.tensor([[False, True, True]])
        >>> HardOnly()(gaps, negatives, margin=0.1)
        tensor([[False,  True, False]])
    """

    reduction: Reduction = "mean_nonzero"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        return negatives & (gaps > 0)


@dataclass(frozen=True)
class SemiHardOnly:
    """Negatives not closer than the positive, but within the margin, −m < gap ≤ 0.

    Args:
        reduction: how the loss combines the hinges.

    References:
        Kolluru, section 3.3; Schroff et al., *FaceNet*, 2015.

    Example:
        >>> gaps, negatives = torch.tensor([[0.0, 0.3, -0.05]]), torch.tensor([[False, True, True]])
        >>> SemiHardOnly()(gaps, negatives, margin=0.1)
        tensor([[False, False,  True]])
    """

    reduction: Reduction = "mean_nonzero"

    def __call__(self, gaps: Tensor, negatives: Tensor, margin: float) -> Tensor:
        return negatives & (gaps > -margin) & (gaps <= 0)


@dataclass(frozen=True)
class KHardest:
    """The k negatives most similar to the anchor, easy or not; all of them if there are fewer.

    Args:
        k: how many negatives per (anchor, positive) pair.
        reduction: how the loss combines the hinges.

    References:
        Kolluru, section 3.3 (k = 10); with k = 1, Faghri et al., *VSE++*, 2018.

    Example:
        >>> gaps, negatives = torch.tensor([[0.0, 0.3, -0.5]]), torch.tensor([[False, True, True]])
        >>> KHardest(k=1)(gaps, negatives, margin=0.1)
        tensor([[False,  True, False]])
    """

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
    """For each candidate, the one pair whose gap is largest: a maximum over anchors, while `KHardest(1)` takes one over
    negatives. It is how the code published by Vilalta et al. implements their equation 4 (docs/papers/vilalta.md).

    Args:
        reduction: how the loss combines the hinges.

    Example:
        >>> gaps = torch.tensor([[0.0, 0.3], [0.1, 0.0]])
        >>> HardestAnchor()(gaps, ~torch.eye(2, dtype=torch.bool), margin=0.1)
        tensor([[False,  True],
                [ True, False]])
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
