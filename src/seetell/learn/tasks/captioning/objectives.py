"""The objectives of captioning: what a phase of a recipe may name as its `loss`."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import torch
from torch import Tensor, nn

from seetell.learn.losses.captions import CrossEntropy, DoublyStochastic, HardAttentionRule, word_log_likelihoods
from seetell.learn.models.captioner import CaptionModel, TeacherForced
from seetell.learn.recipes import RecipeError
from seetell.learn.recipes.loss_settings import CrossEntropySettings, HardAttentionSettings

Logs = dict[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """Captions and their images, each image once."""

    tokens: Tensor  # (B, T): from `<start>` to `<end>`, then padding (0)
    features: Tensor  # (P, …)
    rows: Tensor  # (B,): the image of each caption
    images: Tensor  # (P,): indices in the training split
    seed: Tensor  # (): for sampling outside PyTorch

    @classmethod
    def of(cls, tensors: Sequence[Tensor]) -> "Batch":
        return cls(*tensors)


class Objective(nn.Module):
    """A loss that runs the model itself."""

    by_image = False  # whether an epoch is one pass over the images instead of all captions

    def forward(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        raise NotImplementedError


class Likelihood(Objective):
    """−log p(y | a), and for attention models λ Σ_i (1 − Σ_t α_ti)² (Xu, equation 9).

    With scheduled sampling (Bengio et al.) a share of the input words is replaced by words drawn from the model's own
    distribution after the true words before them.

    Args:
        settings: see `CrossEntropySettings`.
    """

    def __init__(self, settings: CrossEntropySettings = CrossEntropySettings()) -> None:  # noqa: B008
        super().__init__()
        self.cross_entropy = CrossEntropy(settings.smoothing, settings.per)
        self.regularisation = DoublyStochastic(settings.doubly_stochastic) if settings.doubly_stochastic else None
        self.sampling = settings.sampling

    def forward(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        read, words, mask = split(batch.tokens)
        if self.sampling:
            read = self._mixed(model, batch, read, mask)
        output = model(batch.features, read, batch.rows)
        loss = self.cross_entropy(output.logits, words, mask)
        logs: Logs = {}
        if self.regularisation is not None:
            logs["words"] = loss.detach()
            loss = loss + self.regularisation(_needed(output.attention, "doubly_stochastic"), mask)
        return loss, logs

    @torch.no_grad()
    def _mixed(self, model: CaptionModel, batch: Batch, read: Tensor, mask: Tensor) -> Tensor:
        """The captions with some words, never the start mark, replaced by the model's own."""
        logits = model(batch.features, read, batch.rows).logits[:, :-1]  # its predictions for positions 1 … T − 1
        logits[:, :, 0] = float("-inf")  # never padding
        expected = torch.multinomial(logits.flatten(0, 1).softmax(1), 1).view(logits.shape[:2])
        replace = (torch.rand_like(expected, dtype=torch.float) < self.sampling) & mask[:, 1:]
        return torch.cat([read[:, :1], torch.where(replace, expected, read[:, 1:])], dim=1)


class HardAttention(Objective):
    """The learning rule of section 4.1 of Xu.

    Args:
        settings: see `HardAttentionSettings`.
    """

    def __init__(self, settings: HardAttentionSettings = HardAttentionSettings()) -> None:  # noqa: B008
        super().__init__()
        self.rule = HardAttentionRule(**msgspec.structs.asdict(settings))

    def forward(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        read, words, mask = split(batch.tokens)
        output = model(batch.features, read, batch.rows)
        likelihoods = word_log_likelihoods(output.logits, words)
        locations = _needed(output.log_location, "hard_attention")
        entropies = _needed(output.entropy, "hard_attention")
        loss = self.rule(likelihoods, locations, entropies, mask, output.expected)
        logs = {"words": -(likelihoods.detach() * mask).sum() / mask.sum(), "entropy": entropies.detach()[mask].mean()}
        return loss, logs


def split(tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Captions as input words, target words, and a mask of the targets; nothing is read where there is no target."""
    words = tokens[:, 1:]
    mask = words != 0
    return tokens[:, :-1] * mask, words, mask


def accuracy(output: TeacherForced, words: Tensor, mask: Tensor) -> tuple[int, int]:
    """How many words were predicted correctly, and how many there are."""
    right = (output.logits.argmax(2) == words) & mask
    return int(right.sum()), int(mask.sum())


def _needed(value: Tensor | None, loss: str) -> Tensor:
    if value is None:
        raise RecipeError(
            f"the loss {loss} needs another model", where="[[phases]] loss", remedy="See docs/papers/xu.md"
        )
    return value
