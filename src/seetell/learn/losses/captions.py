"""Losses of captioners, over words (B, T): log-likelihood, doubly stochastic attention, hard attention, reward.

A mask (B, T) says which places hold a word; the others are padding and never count. `per` says what a loss is the mean
over: "word" (the batch's words) or "sentence" (its sentences, each being the sum over its words, as log p(y | a) is).
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Per = Literal["word", "sentence"]


class CrossEntropy(nn.Module):
    """−log p(y | a) = −Σ_t log p(y_t | a, y_1 … y_{t−1}).

    Args:
        smoothing: this share of a target's probability is spread evenly over the vocabulary.
        per: what to average over.
    """

    def __init__(self, smoothing: float = 0.0, per: Per = "word") -> None:
        super().__init__()
        self.smoothing, self.per = smoothing, _known(per)

    def forward(self, logits: Tensor, words: Tensor, mask: Tensor) -> Tensor:
        """Logits or log-probabilities (B, T, V) against word numbers (B, T)."""
        targets = words.masked_fill(~mask, -100)
        total = F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=-100, label_smoothing=self.smoothing, reduction="sum"
        )
        return _mean(total, mask, self.per)


class DoublyStochastic(nn.Module):
    """λ Σ_i (τ − Σ_t α_ti)²: every place of the image should be looked at about as much (Xu et al., equation 9).

    The sum is over the L places of the grid; the mean over captions.

    Args:
        weight: λ.
        total: τ, how much attention a place should get over the whole caption; the paper fixed it to 1.
    """

    def __init__(self, weight: float = 1.0, total: float = 1.0) -> None:
        super().__init__()
        self.weight, self.total = weight, total

    def forward(self, attention: Tensor, mask: Tensor) -> Tensor:
        """Attention (B, T, L)."""
        paid = attention.masked_fill(~mask[:, :, None], 0.0).sum(1)  # (B, L)
        return self.weight * (self.total - paid).square().sum(1).mean()


class HardAttentionRule(nn.Module):
    """The learning rule of hard attention (Xu et al., section 4.1) as a loss: its gradient is the rule's, times −1.

        mean over captions of ∂ log p(y | s̃, a) + λ_r (log p(y | s̃, a) − b) ∂ log p(s̃ | a) + λ_e ∂ H[s̃]

    The moving average b_k = 0.9 b_{k−1} + 0.1 log p(y | s̃_k, a) takes the mean over the k-th batch, after b_{k−1} has
    served as its baseline; it changes in training only, and is part of the state.

    Captions whose places were replaced by their expectation have drawn nothing: for them the second term is left out,
    and they do not enter the moving average, which is to foretell the likelihood of drawn places.

    Args:
        lambda_r: λ_r.
        lambda_e: λ_e.
        decay: the 0.9 above.
        baseline: the moving average is of a "sentence", as in the paper, or of a "word", b being that times the
            caption's words. The latter is the better guess where captions differ in length.
        per: what to average the rule over.
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
            log_locations: log p(s̃_t | a) of the places drawn.
            entropies: H[s̃_t] of the distributions they were drawn from.
            mask: which places in a caption hold a word.
            expected: (B,) which captions used the expected context; by default none.
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
    """−(r(sample) − r(baseline)) Σ_t log p(w_t of the sample): samples better than the baseline become more likely.

    The gradient is, in the mean, that of −E[r] (Rennie et al., *Self-critical sequence training*, 2017, whose baseline
    is the reward of the greedy caption). For several samples an image see `others_mean`.
    """

    def __init__(self, per: Per = "sentence") -> None:
        super().__init__()
        self.per = _known(per)

    def forward(self, log_likelihoods: Tensor, mask: Tensor, rewards: Tensor, baselines: Tensor) -> Tensor:
        """Log-likelihoods (B, T) of the samples' words, their rewards (B,) and what these are compared with (B,)."""
        advantage = (rewards - baselines).detach()
        return -_mean((advantage * _sums(log_likelihoods, mask)).sum(), mask, self.per)


def others_mean(rewards: Tensor) -> Tensor:
    """A baseline without a greedy caption: for each of S samples of an image (P, S), the mean reward of the others."""
    samples = rewards.shape[1]
    if samples < 2:
        raise ValueError("one sample an image has no others to be compared with")
    return (rewards.sum(1, keepdim=True) - rewards) / (samples - 1)


def word_log_likelihoods(logits: Tensor, words: Tensor) -> Tensor:
    """log p(y_t) (B, T) of the words (B, T), from logits or log-probabilities (B, T, V)."""
    return -F.cross_entropy(logits.flatten(0, 1), words.flatten(), reduction="none").view(words.shape)


def _sums(values: Tensor, mask: Tensor) -> Tensor:
    """(B,): values (B, T) summed over a sentence's words."""
    return values.masked_fill(~mask, 0.0).sum(1)


def _mean(total: Tensor, mask: Tensor, per: Per) -> Tensor:
    """What is summed over a batch, a word or a sentence."""
    return total / (mask.sum().clamp(min=1) if per == "word" else max(1, len(mask)))


def _known(per: Per) -> Per:
    if per not in ("word", "sentence"):
        raise ValueError(f"losses are per word or per sentence, not per {per!r}")
    return per
