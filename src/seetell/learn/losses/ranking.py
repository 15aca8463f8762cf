"""Ranking losses: an image and its texts should be more similar than the image and other texts, and vice versa.

Every loss takes a matrix of scores (P, T), images by texts, larger meaning more similar, and a mask of positives of the
same shape. The mask must have at least one positive pair; an image may have any number of texts, a text any number of
images. A positive of an anchor is never one of its negatives.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seetell.learn.losses.selection import SELECTIONS, All, KHardest, Selection
from seetell.learn.recipes.loss_settings import (
    ContrastiveSettings,
    LossSettings,
    MaxOfHingesSettings,
    Reduction,
    SumOfHingesSettings,
    TripletSettings,
)


class TripletLoss(nn.Module):
    """The bi-directional triplet loss, in terms of scores, over the triplets that a negative selection picks.

    L = R [m + s(i, c⁻) − s(i, c⁺)]₊ + λ R [m + s(i⁻, c) − s(i⁺, c)]₊

    with [x]₊ = max(0, x): first with images as anchors, then with texts. R is the reduction, applied to each direction
    separately: the sum, the mean over selected triplets, or the mean over those whose hinge is not zero. The hinges are
    a (positive pairs × candidates) matrix: B × B for a batch of B pairs.

    Args:
        margin: m.
        selection: which triplets count; all by default.
        lambda_: λ, the weight of the direction from text to image.
        reduction: how hinges are combined; by default as in the selection's paper.

    References:
        Kolluru, equation 3.

    Example:
        >>> scores = torch.tensor([[0.9, 0.2], [0.6, 0.5]])  # 2 images × 2 texts
        >>> loss = TripletLoss(margin=0.1, selection=KHardest(1))
        >>> loss(scores, torch.eye(2))
        tensor(0.2000)
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
        """Scores (P, T) and a mask of positives (P, T) → a scalar."""
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
    """The sum of hinges: every other pair of the batch is a contrast.

    L_S = Σ_i Σ_k [α − S(i, c) + S(i, c_k)]₊ + Σ_c Σ_k [α − S(i, c) + S(c, i_k)]₊

    Args:
        margin: α.
        reduction: "sum", as in the paper, or a mean.

    References:
        Vilalta et al., equation 1; Kiros et al., *Unifying visual-semantic embeddings*, 2014.

    Example:
        >>> scores = torch.tensor([[0.9, 0.2], [0.6, 0.5]])
        >>> SumOfHinges(margin=0.2)(scores, torch.eye(2))
        tensor(0.3000)
    """

    def __init__(self, margin: float = 0.2, reduction: Reduction = "sum") -> None:
        super().__init__(margin, All(), reduction=reduction)


class MaxOfHinges(TripletLoss):
    """The maximum of hinges: only the hardest negative of each pair is a contrast.

    L_M = Σ_i max_k [α − S(i, c) + S(i, c_k)]₊ + Σ_c max_k [α − S(i, c) + S(c, i_k)]₊

    Training may fail to start: see `CollapseDetector`.

    Args:
        margin: α.
        reduction: "sum", as in the paper, or a mean.

    References:
        Vilalta et al., equation 4; Faghri et al., *VSE++: improving visual-semantic embeddings with hard negatives*,
        2018.

    Example:
        >>> scores = torch.tensor([[0.9, 0.2, 0.8], [0.6, 0.5, 0.1], [0.0, 0.0, 0.7]])
        >>> MaxOfHinges(margin=0.2)(scores, torch.eye(3))
        tensor(0.7000)
    """

    def __init__(self, margin: float = 0.2, reduction: Reduction = "sum") -> None:
        super().__init__(margin, KHardest(1), reduction=reduction)


class Contrastive(nn.Module):
    """The symmetric contrastive loss (InfoNCE) with a learned temperature τ.

    L = ½ mean over positive pairs (i, c) of −log ( e^{s(i,c)/τ} / (e^{s(i,c)/τ} + Σ_k e^{s(i,c_k)/τ}) )
      + ½ the same with texts as anchors,

    c_k being the negatives of i: other positives of the anchor are not in the denominator.

    Args:
        temperature: the initial τ.
        lowest: τ never falls below this.
        learned: learn τ (apply no weight decay to `log_scale`, log 1/τ), or keep it fixed.

    References:
        Radford et al., *Learning transferable visual models from natural language supervision*, 2021. In none of the
        five papers.

    Example:
        >>> scores = torch.tensor([[0.9, 0.2], [0.6, 0.5]])
        >>> Contrastive(temperature=0.1, learned=False)(scores, torch.eye(2))
        tensor(0.3528)
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
        """Scores (P, T) and a mask of positives (P, T) → a scalar."""
        scores, positives = _checked(scores, positives)
        with torch.no_grad():
            # The parameter itself is clamped: clamping its use would leave it without a gradient outside the range.
            self.log_scale.clamp_(max=-torch.tensor(self.lowest).log().item())
        scores = scores * self.log_scale.exp()
        return (self._one_way(scores, positives) + self._one_way(scores.T, positives.T)) / 2

    @staticmethod
    def _one_way(scores: Tensor, positives: Tensor) -> Tensor:
        anchors, matches = positives.nonzero(as_tuple=True)
        # The lowest finite number masks what is not a negative: without any negative, −∞ − (−∞) would be NaN.
        against = scores.masked_fill(positives, torch.finfo(scores.dtype).min).logsumexp(1)
        return F.softplus(against[anchors] - scores[anchors, matches]).mean()


RANKING_LOSSES: dict[str, tuple[type[LossSettings], type[nn.Module]]] = {
    "sum": (SumOfHingesSettings, SumOfHinges),
    "max": (MaxOfHingesSettings, MaxOfHinges),
    "triplet": (TripletSettings, TripletLoss),
    "contrastive": (ContrastiveSettings, Contrastive),
}


def triplet_loss(settings: TripletSettings) -> TripletLoss:
    """The loss that `{ kind = "triplet", selection = "k_hardest", k = 10 }` describes."""
    selection = KHardest(settings.k or 1) if settings.selection == "k_hardest" else SELECTIONS[settings.selection]()
    return TripletLoss(settings.margin, selection, settings.lambda_, settings.reduction)


def positive_mask(images: Tensor, owners: Tensor) -> Tensor:
    """Which texts describe which images (P, T).

    Args:
        images: (P,) identifiers of the images.
        owners: (T,) the identifier of each text's image.

    Example:
        >>> positive_mask(torch.tensor([7, 8]), torch.tensor([7, 7, 8]))
        tensor([[ True,  True, False],
                [False, False,  True]])
    """
    return images[:, None] == owners[None, :]


def _checked(scores: Tensor, positives: Tensor) -> tuple[Tensor, Tensor]:
    """Scores in at least single precision (hinges of half-precision scores are mostly rounding error), and the mask."""
    if scores.ndim != 2 or scores.shape != positives.shape:
        raise ValueError(
            f"scores {tuple(scores.shape)} and positives {tuple(positives.shape)} are not one (P, T) table"
        )
    positives = positives.bool()
    if not positives.any():
        raise ValueError("the batch is empty: it has no positive pair of an image and a text")
    return scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores, positives
