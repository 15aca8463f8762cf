"""Losses of captioners, over words (B, T): log-likelihood, doubly stochastic attention, hard attention, reward.

A mask (B, T) marks the positions that hold a word; the others are padding and never count. `per` is what a loss is
averaged over: "word" (the batch's words) or "sentence" (its sentences, each the sum over its words, like log p(y | a)).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seetell.learn.recipes.loss_settings import (
    CrossEntropySettings,
    HardAttentionSettings,
    LossSettings,
    Per,
    SelfCriticalSettings,
)


class CrossEntropy(nn.Module):
    """Negative log-likelihood of captions, with optional label smoothing.

    −log p(y | a) = −Σ_t log p(y_t | a, y_1 … y_{t−1})

    Args:
        smoothing: share of each target's probability that is spread evenly over the vocabulary.
        per: what to average over.

    Example:
        >>> words = torch.tensor([[1, 2, 0]])
        >>> CrossEntropy()(torch.zeros(1, 3, 4), words, mask=words != 0)  # log 4
        tensor(1.3863)
    """

    def __init__(self, smoothing: float = 0.0, per: Per = "word") -> None:
        super().__init__()
        self.smoothing, self.per = smoothing, _known(per)

    def forward(self, logits: Tensor, words: Tensor, mask: Tensor) -> Tensor:
        """Logits or log-probabilities (B, T, V) against word indices (B, T)."""
        targets = words.masked_fill(~mask, -100)
        total = F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=-100, label_smoothing=self.smoothing, reduction="sum"
        )
        return _mean(total, mask, self.per)


class DoublyStochastic(nn.Module):
    """The doubly stochastic penalty: every location of the image should receive about the same attention.

    λ Σ_i (τ − Σ_t α_ti)²

    The sum is over the L locations of the grid; the mean over captions.

    Args:
        weight: λ.
        total: τ, the attention that a location should receive over the whole caption; 1 in the paper.

    References:
        Xu et al., equation 9.

    Example:
        >>> attention = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])  # two words, both at the first of two locations
        >>> DoublyStochastic()(attention, mask=torch.ones(1, 2, dtype=torch.bool))
        tensor(2.)
    """

    def __init__(self, weight: float = 1.0, total: float = 1.0) -> None:
        super().__init__()
        self.weight, self.total = weight, total

    def forward(self, attention: Tensor, mask: Tensor) -> Tensor:
        """Attention (B, T, L)."""
        paid = attention.masked_fill(~mask[:, :, None], 0.0).sum(1)  # (B, L)
        return self.weight * (self.total - paid).square().sum(1).mean()


class HardAttentionRule(nn.Module):
    """The learning rule of hard attention as a loss, whose gradient is that of the rule, times −1.

        mean over captions of ∂ log p(y | s̃, a) + λ_r (log p(y | s̃, a) − b) ∂ log p(s̃ | a) + λ_e ∂ H[s̃]

    The moving average b_k = 0.9 b_{k−1} + 0.1 log p(y | s̃_k, a) uses the mean over the k-th batch, after b_{k−1} has
    served as its baseline; it is updated in training only, and is part of the state.

    Captions whose locations were replaced by their expectation have sampled nothing: for them the second term is
    omitted, and they do not enter the moving average, which predicts the likelihood of sampled locations.

    Args:
        lambda_r: λ_r.
        lambda_e: λ_e.
        decay: the 0.9 above.
        baseline: the moving average is per "sentence", as in the paper, or per "word", with b multiplied by the
            caption's length. The latter predicts better if captions differ in length.
        per: what to average the rule over.

    References:
        Xu et al., section 4.1.

    Example:
        >>> mask = torch.ones(1, 2, dtype=torch.bool)
        >>> likelihoods, locations, entropies = torch.full((1, 2), -1.0), torch.full((1, 2), -0.5), torch.zeros(1, 2)
        >>> HardAttentionRule()(likelihoods, locations, entropies, mask)  # −(−2 + (−2 − 0) · (−1))
        tensor(-0.)
    """

    average: Tensor

    def __init__(
        self,
        lambda_r: float = 1.0,
        lambda_e: float = 0.01,
        decay: float = 0.9,
        baseline: Per = "sentence",
        per: Per = "sentence",
    ) -> None:
        super().__init__()
        self.lambda_r, self.lambda_e, self.decay = lambda_r, lambda_e, decay
        self.baseline, self.per = _known(baseline), _known(per)
        self.register_buffer("average", torch.zeros(()))

    def forward(
        self,
        log_likelihoods: Tensor,
        log_locations: Tensor,
        entropies: Tensor,
        mask: Tensor,
        expected: Tensor | None = None,
    ) -> Tensor:
        """The rule's terms, each (B, T).

        Args:
            log_likelihoods: log p(y_t | s̃, a) of the captions' words.
            log_locations: log p(s̃_t | a) of the sampled locations.
            entropies: H[s̃_t] of the distributions they were sampled from.
            mask: which positions of a caption hold a word.
            expected: (B,) which captions used the expected context; none by default.
        """
        likelihood, location, entropy = (_sums(term, mask) for term in (log_likelihoods, log_locations, entropies))
        drawn = torch.ones_like(mask[:, 0]) if expected is None else ~expected
        words = mask.sum(1) if self.baseline == "word" else torch.ones_like(drawn, dtype=torch.long)
        advantage = (likelihood.detach() - self.average * words) * drawn
        rule = likelihood + self.lambda_r * advantage * location + self.lambda_e * entropy
        if self.training:
            self._follow(likelihood.detach()[drawn], words[drawn])
        return -_mean(rule.sum(), mask, self.per)

    @torch.no_grad()
    def _follow(self, likelihood: Tensor, words: Tensor) -> None:
        if len(likelihood):
            self.average.lerp_(likelihood.sum() / words.sum().clamp(min=1), 1 - self.decay)


class SelfCritical(nn.Module):
    """Self-critical training: samples with a higher reward than the baseline become more likely.

    −(r(sample) − r(baseline)) Σ_t log p(w_t of the sample)

    The expected gradient is that of −E[r]. The paper's baseline is the reward of the greedy caption; for several
    samples per image see `others_mean`.

    Args:
        per: what to average over.

    References:
        Rennie et al., *Self-critical sequence training for image captioning*, 2017.

    Example:
        >>> log_likelihoods, mask = torch.full((1, 2), -0.5), torch.ones(1, 2, dtype=torch.bool)
        >>> SelfCritical()(log_likelihoods, mask, rewards=torch.tensor([0.8]), baselines=torch.tensor([0.3]))
        tensor(0.5000)
    """

    def __init__(self, per: Per = "sentence") -> None:
        super().__init__()
        self.per = _known(per)

    def forward(self, log_likelihoods: Tensor, mask: Tensor, rewards: Tensor, baselines: Tensor) -> Tensor:
        """Log-likelihoods (B, T) of the samples' words, their rewards (B,) and baselines (B,)."""
        advantage = (rewards - baselines).detach()
        return -_mean((advantage * _sums(log_likelihoods, mask)).sum(), mask, self.per)


CAPTION_LOSSES: dict[str, tuple[type[LossSettings], type[nn.Module]]] = {
    "cross_entropy": (CrossEntropySettings, CrossEntropy),
    "hard_attention": (HardAttentionSettings, HardAttentionRule),
    "self_critical": (SelfCriticalSettings, SelfCritical),
}
"""The losses that captioning recipes name; `seetell.learn.tasks.captioning` makes objectives of them, which also run
the model (sampling, rewards, the doubly stochastic penalty)."""


def others_mean(rewards: Tensor) -> Tensor:
    """A baseline without a greedy caption: for each of S samples of an image, the mean reward of the others.

    Args:
        rewards: (P, S), those of each image's samples.

    Example:
        >>> others_mean(torch.tensor([[1.0, 2.0, 6.0]]))
        tensor([[4.0000, 3.5000, 1.5000]])
    """
    samples = rewards.shape[1]
    if samples < 2:
        raise ValueError("a single sample per image has no others to compare with")
    return (rewards.sum(1, keepdim=True) - rewards) / (samples - 1)


def word_log_likelihoods(logits: Tensor, words: Tensor) -> Tensor:
    """The log-likelihood log p(y_t) of each word (B, T).

    Args:
        logits: logits or log-probabilities (B, T, V).
        words: word indices (B, T).

    Example:
        >>> word_log_likelihoods(torch.zeros(1, 2, 4), torch.tensor([[1, 2]]))
        tensor([[-1.3863, -1.3863]])
    """
    return -F.cross_entropy(logits.flatten(0, 1), words.flatten(), reduction="none").view(words.shape)


def _sums(values: Tensor, mask: Tensor) -> Tensor:
    """(B,): values (B, T) summed over a sentence's words."""
    return values.masked_fill(~mask, 0.0).sum(1)


def _mean(total: Tensor, mask: Tensor, per: Per) -> Tensor:
    """A sum over a batch, divided by its words or sentences."""
    return total / (mask.sum().clamp(min=1) if per == "word" else max(1, len(mask)))


def _known(per: Per) -> Per:
    if per not in ("word", "sentence"):
        raise ValueError(f"per is {per!r}; expected 'word' or 'sentence'")
    return per
