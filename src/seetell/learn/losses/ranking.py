"""Ranking losses: an image and its texts should be more alike than the image and others' texts, and the reverse.

Every loss takes a matrix of scores (P, T), images by texts, bigger meaning more alike, and a mask of positives of the
same shape. Nothing is assumed of the mask but that it holds a positive pair: an image may have any number of texts, a
text any number of images. What is positive for an anchor is never a negative of it.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seetell.learn.losses.selection import SELECTIONS, All, KHardest, Reduction, Selection
from seetell.learn.losses.settings import made


class TripletLoss(nn.Module):
    """The bi-directional triplet loss (Kolluru, equation 3), in terms of scores.

    L = R [m + s(i, c⁻) − s(i, c⁺)]₊ + λ R [m + s(i⁻, c) − s(i⁺, c)]₊

    with [x]₊ = max(0, x), over the triplets that the selection picks: images as anchors, then texts. R is the
    reduction, made in each direction by itself: the sum, the mean over selected triplets, or the mean over those whose
    hinge is not zero. The hinges are a (positive pairs × candidates) matrix: B × B for a batch of B pairs.

    Args:
        margin: m.
        selection: which triplets count.
        lambda_: λ, the weight of the direction from text to image.
        reduction: how hinges are put together; by default as the selection's paper has it.
    """

    def __init__(
        self,
        margin: float = 0.1,
        selection: Selection | None = None,
        lambda_: float = 1.0,
        reduction: Reduction | None = None,
    ) -> None:
        super().__init__()
        self.margin, self.lambda_ = margin, lambda_
        self.selection: Selection = All() if selection is None else selection
        self.reduction: Reduction = reduction or self.selection.reduction
        if self.reduction not in ("sum", "mean", "mean_nonzero"):
            raise ValueError(f"there is no reduction called {self.reduction!r}: choose sum, mean or mean_nonzero")

    def forward(self, scores: Tensor, positives: Tensor) -> Tensor:
        scores, positives = _checked(scores, positives)
        loss = self._one_way(scores, positives)
        return loss + self.lambda_ * self._one_way(scores.T, positives.T) if self.lambda_ else loss

    def _one_way(self, scores: Tensor, positives: Tensor) -> Tensor:
        """The loss of (anchors, candidates)."""
        anchors = positives.nonzero()[:, 0]
        gaps = scores.index_select(0, anchors) - scores.masked_select(positives)[:, None]  # (pairs, candidates)
        selected = self.selection(gaps.detach(), ~positives.index_select(0, anchors), self.margin)
        hinges = F.relu(self.margin + gaps.masked_select(selected))
        if self.reduction == "sum":
            return hinges.sum()
        count = int(hinges.count_nonzero()) if self.reduction == "mean_nonzero" else hinges.numel()
        return hinges.sum() / max(1, count)

    def extra_repr(self) -> str:
        return f"margin={self.margin}, selection={self.selection}, lambda_={self.lambda_}, reduction={self.reduction!r}"


class SumOfHinges(TripletLoss):
    """Every pair of the batch as a contrast (Vilalta et al., equation 1; Kiros et al., 2014).

    L_S = Σ_i Σ_k [α − S(i, c) + S(i, c_k)]₊ + Σ_c Σ_k [α − S(i, c) + S(c, i_k)]₊
    """

    def __init__(self, margin: float = 0.2, reduction: Reduction = "sum") -> None:
        super().__init__(margin, All(), reduction=reduction)


class MaxOfHinges(TripletLoss):
    """Only the worst contrast of each pair (Vilalta et al., equation 4; Faghri et al., *VSE++*, 2018).

    L_M = Σ_i max_k [α − S(i, c) + S(i, c_k)]₊ + Σ_c max_k [α − S(i, c) + S(c, i_k)]₊

    The greatest hinge is that of the hardest negative. May fail to start learning: see `CollapseDetector`.
    """

    def __init__(self, margin: float = 0.2, reduction: Reduction = "sum") -> None:
        super().__init__(margin, KHardest(1), reduction=reduction)


class Contrastive(nn.Module):
    """Symmetric contrastive loss (InfoNCE) with a learned temperature τ.

    L = ½ mean over positive pairs (i, c) of −log ( e^{s(i,c)/τ} / (e^{s(i,c)/τ} + Σ_k e^{s(i,c_k)/τ}) )
      + ½ the same with texts as anchors,

    c_k being the negatives of i: other positives of the anchor are not in the denominator. In none of the papers;
    Radford et al., *Learning transferable visual models from natural language supervision* (2021).

    Args:
        temperature: τ at the start.
        lowest: τ never falls below this.
        learned: learn τ (give `log_scale`, log 1/τ, no weight decay), or leave it.
    """

    def __init__(self, temperature: float = 0.07, lowest: float = 0.01, learned: bool = True) -> None:
        super().__init__()
        if not 0 < lowest <= temperature:
            raise ValueError(f"temperature {temperature} must be positive and not below its lowest value, {lowest}")
        self.lowest = lowest
        self.log_scale = nn.Parameter(-torch.tensor(temperature).log(), requires_grad=learned)

    @property
    def temperature(self) -> float:
        return float(torch.exp(-self.log_scale.detach()))

    def forward(self, scores: Tensor, positives: Tensor) -> Tensor:
        scores, positives = _checked(scores, positives)
        with torch.no_grad():
            # The parameter itself is held back: clamping its use would leave it without a gradient, stuck outside.
            self.log_scale.clamp_(max=-torch.tensor(self.lowest).log().item())
        scores = scores * self.log_scale.exp()
        return (self._one_way(scores, positives) + self._one_way(scores.T, positives.T)) / 2

    @staticmethod
    def _one_way(scores: Tensor, positives: Tensor) -> Tensor:
        anchors, matches = positives.nonzero(as_tuple=True)
        # The lowest number, not −∞, stands for what is no negative: where there is none, −∞ − (−∞) is not a number.
        against = scores.masked_fill(positives, torch.finfo(scores.dtype).min).logsumexp(1)
        return F.softplus(against[anchors] - scores[anchors, matches]).mean()


LOSSES: dict[str, type[nn.Module]] = {
    "sum": SumOfHinges,
    "max": MaxOfHinges,
    "triplet": TripletLoss,
    "contrastive": Contrastive,
}


def ranking_loss(settings: Mapping[str, Any]) -> nn.Module:
    """The loss that a recipe asks for: `{ kind = "triplet", margin = 0.1, selection = "k_hardest", k = 10 }`."""
    given = dict(settings)
    if "lambda" in given:
        given["lambda_"] = given.pop("lambda")
    if "selection" in given:
        chosen = {"kind": given["selection"], **({"k": given.pop("k")} if "k" in given else {})}
        given["selection"] = made(SELECTIONS, chosen, "selection")
    return made(LOSSES, given, "ranking loss")


def positive_mask(images: Tensor, owners: Tensor) -> Tensor:
    """(P, T): which texts describe which images, from the images' numbers (P,) and those of each text's (T,)."""
    return images[:, None] == owners[None, :]


def _checked(scores: Tensor, positives: Tensor) -> tuple[Tensor, Tensor]:
    """Scores in at least single precision (hinges of half-precision scores are mostly rounding), and a boolean mask."""
    if scores.ndim != 2 or scores.shape != positives.shape:
        raise ValueError(
            f"scores {tuple(scores.shape)} and positives {tuple(positives.shape)} are not one (P, T) table"
        )
    positives = positives.bool()
    if not positives.any():
        raise ValueError("the batch is empty: it has no positive pair of an image and a text")
    return scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores, positives
