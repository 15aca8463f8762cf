"""What a captioner is trained by: the objectives that a recipe's `[[phases]]` may name as their `loss`."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seetell.learn.losses.captions import CrossEntropy, DoublyStochastic, HardAttentionRule, Per, word_log_likelihoods
from seetell.learn.models.captioner import CaptionModel, TeacherForced
from seetell.learn.recipes import RecipeError

Logs = dict[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """Captions and their images, each image once."""

    tokens: Tensor  # (B, T): from `<start>` to `<end>`, then padding (0)
    features: Tensor  # (P, …)
    rows: Tensor  # (B,): the image of each caption
    images: Tensor  # (P,): positions in the training split
    seed: Tensor  # (): for what is drawn outside PyTorch

    @classmethod
    def of(cls, tensors: Sequence[Tensor]) -> "Batch":
        return cls(*tensors)


class Objective(nn.Module):
    """A loss that asks the model what it needs."""

    by_image = False  # whether an epoch goes once through the images, and not through all captions

    def forward(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        raise NotImplementedError


class Likelihood(Objective):
    """−log p(y | a), and for attending models λ Σ_i (1 − Σ_t α_ti)² (Xu, equation 9).

    Args:
        smoothing: share of a word's probability spread over the vocabulary.
        per: mean over words or over sentences; the paper's λ belongs to sentences.
        doubly_stochastic: λ; 0: no such term.
        sampling: scheduled sampling (Bengio et al.): this share of the words that are read is replaced by words drawn
            from what the model itself expects there after reading the true caption.
    """

    def __init__(
        self, smoothing: float = 0.0, per: Per = "word", doubly_stochastic: float = 0.0, sampling: float = 0.0
    ) -> None:
        super().__init__()
        self.cross_entropy = CrossEntropy(smoothing, per)
        self.regularisation = DoublyStochastic(doubly_stochastic) if doubly_stochastic else None
        self.sampling = sampling

    def forward(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        read, words, mask = split(batch.tokens)
        if self.sampling:
            read = self._mixed(model, batch, read, mask)
        taught = model(batch.features, read, batch.rows)
        loss = self.cross_entropy(taught.logits, words, mask)
        logs: Logs = {}
        if self.regularisation is not None:
            logs["words"] = loss.detach()
            loss = loss + self.regularisation(_needed(taught.attention, "doubly_stochastic"), mask)
        return loss, logs

    @torch.no_grad()
    def _mixed(self, model: CaptionModel, batch: Batch, read: Tensor, mask: Tensor) -> Tensor:
        """The captions with some words, never the first mark, replaced by the model's own."""
        logits = model(batch.features, read, batch.rows).logits[:, :-1]  # what it expects at places 1 … T − 1
        logits[:, :, 0] = float("-inf")  # never padding
        expected = torch.multinomial(logits.flatten(0, 1).softmax(1), 1).view(logits.shape[:2])
        replace = (torch.rand_like(expected, dtype=torch.float) < self.sampling) & mask[:, 1:]
        return torch.cat([read[:, :1], torch.where(replace, expected, read[:, 1:])], dim=1)


class HardAttention(Objective):
    """The learning rule of section 4.1 of Xu; the settings are those of `HardAttentionRule`."""

    def __init__(
        self,
        lambda_r: float = 1.0,
        lambda_e: float = 0.01,
        decay: float = 0.9,
        baseline: Per = "sentence",
        per: Per = "sentence",
    ) -> None:
        super().__init__()
        self.rule = HardAttentionRule(lambda_r, lambda_e, decay, baseline, per)

    def forward(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        read, words, mask = split(batch.tokens)
        taught = model(batch.features, read, batch.rows)
        likelihoods = word_log_likelihoods(taught.logits, words)
        locations = _needed(taught.log_location, "hard_attention")
        entropies = _needed(taught.entropy, "hard_attention")
        loss = self.rule(likelihoods, locations, entropies, mask, taught.expected)
        logs = {"words": -(likelihoods.detach() * mask).sum() / mask.sum(), "entropy": entropies.detach()[mask].mean()}
        return loss, logs


def split(tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Captions as what is read, what is to be told, and where that is a word: nothing is read where nothing is told."""
    words = tokens[:, 1:]
    mask = words != 0
    return tokens[:, :-1] * mask, words, mask


def accuracy(taught: TeacherForced, words: Tensor, mask: Tensor) -> tuple[int, int]:
    """How many words were told right, and how many there are."""
    right = (taught.logits.argmax(2) == words) & mask
    return int(right.sum()), int(mask.sum())


def _needed(value: Tensor | None, loss: str) -> Tensor:
    if value is None:
        raise RecipeError(
            f"the loss {loss} needs another model", where="[[phases]] loss", remedy="See docs/papers/xu.md"
        )
    return value
