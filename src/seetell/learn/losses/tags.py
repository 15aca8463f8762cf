"""Multi-label losses: logits (B, C) against targets (B, C) of zeros and ones.

All are sums over an image's labels and means over images, so that their scale depends on the number of labels but not
on the batch; `BinaryCrossEntropy` is the mean over labels as well, as usual. They are computed in at least single
precision from logits, never from probabilities, and are finite for any logit.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seetell.learn.recipes.loss_settings import (
    AsymmetricSettings,
    BinaryCrossEntropySettings,
    FocalSettings,
    LossSettings,
    SoftmaxSettings,
    WarpSettings,
)


class BinaryCrossEntropy(nn.Module):
    """Binary cross-entropy of each label, −[y log σ(x) + (1 − y) log σ(−x)], averaged over images and labels.

    Targets may have any value between 0 and 1.

    References:
        The "CNN + BCE" row of Ren's Table 3.

    Example:
        >>> logits, targets = torch.tensor([[2.0, -1.0, 0.0]]), torch.tensor([[1, 0, 1]])
        >>> BinaryCrossEntropy()(logits, targets)
        tensor(0.3778)
    """

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Logits (B, C) and targets (B, C) → a scalar."""
        logits, targets = _checked(logits, targets)
        return F.binary_cross_entropy_with_logits(logits, targets)


class Softmax(nn.Module):
    """Cross-entropy between the softmax of an image's logits and the uniform distribution over its true labels.

    −1/|c⁺| Σ_{j ∈ c⁺} log softmax(x)_j

    An image without labels has no such distribution and does not count.

    References:
        Gong et al., *Deep convolutional ranking for multilabel image annotation*, 2014.

    Example:
        >>> logits, targets = torch.tensor([[2.0, -1.0, 0.0]]), torch.tensor([[1, 0, 1]])
        >>> Softmax()(logits, targets)
        tensor(1.1698)
    """

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Logits (B, C) and targets (B, C) → a scalar."""
        logits, targets = _checked(logits, targets)
        labels = targets.sum(1)
        losses = -(logits.log_softmax(1) * targets).sum(1) / labels.clamp(min=1)
        return losses.sum() / labels.count_nonzero().clamp(min=1)


class Warp(nn.Module):
    """Weighted approximate ranking (WARP): true labels before others, with most weight on the top of the list.

    For a true label j, the violators are the false labels k with 1 − x_j + x_k > 0, and its rank r_j is their number:

        Σ_{j ∈ c⁺} L(r_j) · mean over violators k of (1 − x_j + x_k),      L(r) = 1 + 1/2 + … + 1/r

    The papers train it by sampling false labels until one violates, after s samples; that one alone represents the
    violators, and r_j is estimated as ⌊|c⁻| / s⌋. Counting costs as little as sampling when all scores are available,
    and is exact: it is the default. The rank is piecewise constant: no gradient flows through it.

    Args:
        margin: the 1 above.
        sampled: sample, without replacement, instead of counting.

    References:
        Weston et al., *WSABIE: scaling up to large vocabulary image annotation*, 2011; Gong et al., *Deep
        convolutional ranking for multilabel image annotation*, 2014.

    Example:
        >>> logits, targets = torch.tensor([[2.0, -1.0, 0.0]]), torch.tensor([[0, 1, 1]])
        >>> Warp()(logits, targets)
        tensor(7.)
    """

    def __init__(self, margin: float = 1.0, sampled: bool = False) -> None:
        super().__init__()
        self.margin, self.sampled = margin, sampled

    def forward(self, logits: Tensor, targets: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Logits (B, C) and targets (B, C) → a scalar; `generator` is for sampling."""
        logits, targets = _checked(logits, targets)
        image, label = targets.nonzero(as_tuple=True)
        false = targets[image] == 0  # (true labels, C)
        hinges = F.relu(self.margin + logits[image] - logits[image, label, None]) * false
        violators = hinges.detach() > 0
        if self.sampled:
            violators, ranks = _drawn(violators, false, generator)
        else:
            ranks = violators.sum(1)
        harmonic = torch.arange(1, logits.shape[1] + 1, device=logits.device).reciprocal().cumsum(0)
        weights = harmonic.to(logits.dtype)[(ranks - 1).clamp(min=0)] / violators.sum(1).clamp(min=1)
        return (weights[:, None] * hinges * violators).sum() / len(logits)


class Focal(nn.Module):
    """Focal loss: binary cross-entropy with less weight on what is already predicted well.

    −w_t (1 − p_t)^γ log p_t,      p_t the predicted probability of the true value

    Args:
        gamma: γ; 0 is binary cross-entropy.
        alpha: w_t is α for true labels and 1 − α for false ones; None: 1 for both.

    References:
        Lin et al., *Focal loss for dense object detection*, 2017, equations 4 and 5.

    Example:
        >>> logits, targets = torch.tensor([[2.0, -1.0, 0.0]]), torch.tensor([[1, 0, 1]])
        >>> Focal(gamma=2)(logits, targets)
        tensor(0.1977)
    """

    def __init__(self, gamma: float = 2.0, alpha: float | None = None) -> None:
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Logits (B, C) and targets (B, C) → a scalar."""
        logits, targets = _checked(logits, targets)
        signed = torch.where(targets > 0, logits, -logits)
        # A power of a probability is the exponential of its logarithm, which avoids divisions by zero.
        losses = -torch.exp(self.gamma * F.logsigmoid(-signed)) * F.logsigmoid(signed)
        if self.alpha is not None:
            losses = losses * torch.where(targets > 0, self.alpha, 1 - self.alpha)
        return losses.sum() / len(logits)


class Asymmetric(nn.Module):
    """Asymmetric loss: easy negatives count little, and those with a probability below the margin not at all.

        true labels:   −(1 − p)^{γ⁺} log p
        false labels:  −p_m^{γ⁻} log(1 − p_m),      p_m = max(p − m, 0)

    Args:
        gamma_positive: γ⁺.
        gamma_negative: γ⁻.
        margin: m, the probability below which a false label has no loss.

    References:
        Ridnik et al., *Asymmetric loss for multi-label classification*, 2021.

    Example:
        >>> logits, targets = torch.tensor([[2.0, -1.0, 0.0]]), torch.tensor([[1, 0, 1]])
        >>> Asymmetric()(logits, targets)
        tensor(0.8206)
    """

    def __init__(self, gamma_positive: float = 0.0, gamma_negative: float = 4.0, margin: float = 0.05) -> None:
        super().__init__()
        if not 0 <= margin < 1:
            raise ValueError(f"margin {margin} is not a probability")
        self.gamma_positive, self.gamma_negative, self.margin = gamma_positive, gamma_negative, margin

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Logits (B, C) and targets (B, C) → a scalar."""
        logits, targets = _checked(logits, targets)
        true = torch.exp(self.gamma_positive * F.logsigmoid(-logits)) * F.logsigmoid(logits)
        losses = -torch.where(targets > 0, true, self._false(logits))
        return losses.sum() / len(logits)

    def _false(self, logits: Tensor) -> Tensor:
        if self.margin == 0:
            return torch.exp(self.gamma_negative * F.logsigmoid(logits)) * F.logsigmoid(-logits)
        shifted = logits.sigmoid() - self.margin
        # 1 − p_m is never below the margin, so its logarithm is finite; that of p_m = 0 is not used.
        costs = torch.log1p(-shifted.clamp(min=0))
        focus = torch.exp(self.gamma_negative * shifted.clamp(min=torch.finfo(logits.dtype).tiny).log())
        return torch.where(shifted > 0, focus * costs, 0.0)


TAG_LOSSES: dict[str, tuple[type[LossSettings], type[nn.Module]]] = {
    "bce": (BinaryCrossEntropySettings, BinaryCrossEntropy),
    "softmax": (SoftmaxSettings, Softmax),
    "warp": (WarpSettings, Warp),
    "focal": (FocalSettings, Focal),
    "asymmetric": (AsymmetricSettings, Asymmetric),
}


def _drawn(violators: Tensor, false: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """For each row: the first violator in a random order of the false labels, as a mask, and ⌊|c⁻| / s⌋."""
    order = torch.rand(false.shape, generator=generator, device=false.device)
    first = order.masked_fill(~violators, 2.0).min(1, keepdim=True)
    draws = ((order <= first.values) & false).sum(1)
    chosen = torch.zeros_like(violators).scatter_(1, first.indices, True) & violators
    return chosen, false.sum(1) // draws.clamp(min=1)


def _checked(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    if logits.ndim != 2 or logits.shape != targets.shape or not logits.numel():
        raise ValueError(f"logits {tuple(logits.shape)} and targets {tuple(targets.shape)} are not one (B, C) table")
    logits = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    return logits, targets.to(logits.dtype)
