"""From sentences to vectors: word embeddings, then a recurrent network or a mean."""

from typing import Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seetell.learn.models.inputs import ModelInputs


class WordEmbedding(nn.Module):
    """Word vectors: learned, pre-trained, or pre-trained with a learned correction.

    Args:
        words: the size of the vocabulary; word 0 is padding and stays zero.
        dimensions: width of a learned vector; pre-trained ones have their own.
        given: pre-trained vectors (words, d), if any.
        mode: with pre-trained vectors: "frozen"; "tuned" (fine-tuned); or "corrected": they stay fixed, are mapped
            linearly to `dimensions`, and each of the first `trained` words (those of the training captions) learns a
            correction. A word that no caption contains then stays close to its neighbours.
        trained: how many words, from the first, have a correction.
    """

    given: Tensor

    def __init__(
        self,
        words: int,
        dimensions: int,
        given: Tensor | None = None,
        mode: Literal["frozen", "tuned", "corrected"] = "tuned",
        trained: int | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode if given is not None else "tuned"
        self.trained = words if trained is None else trained
        if given is None:
            self.table = nn.Embedding(words, dimensions, padding_idx=0)
            nn.init.uniform_(self.table.weight, -0.1, 0.1)
            with torch.no_grad():
                self.table.weight[0] = 0
            self.dimensions = dimensions
        elif self.mode == "corrected":
            self.register_buffer("given", given.float())
            self.map = nn.Linear(given.shape[1], dimensions)
            self.correction = nn.Embedding(self.trained, dimensions, padding_idx=0)
            nn.init.zeros_(self.correction.weight)
            self.dimensions = dimensions
        else:
            self.table = nn.Embedding(given.shape[0], given.shape[1], padding_idx=0, _weight=given.float().clone())
            self.table.weight.requires_grad_(self.mode == "tuned")
            self.dimensions = given.shape[1]

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T) word indices → (B, T, dimensions)."""
        if self.mode != "corrected":
            vectors: Tensor = self.table(tokens)
            return vectors
        mapped: Tensor = self.map(self.given[tokens])
        known = tokens < self.trained
        correction: Tensor = self.correction(torch.where(known, tokens, 0))
        return mapped + correction


class CaptionWords(Protocol):
    """The settings of words that all captioners share."""

    @property
    def word_dimensions(self) -> int: ...
    @property
    def freeze(self) -> bool: ...


def caption_words(settings: CaptionWords, inputs: ModelInputs) -> WordEmbedding:
    """The word embedding of a captioner."""
    mode: Literal["frozen", "tuned"] = "frozen" if settings.freeze else "tuned"
    return WordEmbedding(inputs.words, settings.word_dimensions, inputs.vectors, mode=mode)


def run_packed(network: nn.Module, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Run a recurrent network over sentences of different lengths without computing padding.

    Returns every step's output (B, T, H × directions) and the final state of the last layer (B, H × directions).
    """
    if not isinstance(network, nn.GRU):  # its counterpart in an exported graph, which takes the lengths itself
        steps, final = network(words, lengths)
        return steps, final
    packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
    outputs, final = network(packed)
    steps, _ = pad_packed_sequence(outputs, batch_first=True, total_length=words.shape[1])
    directions = 2 if network.bidirectional else 1
    return steps, final[-directions:].transpose(0, 1).reshape(len(words), -1)


def mean_over_words(words: Tensor, lengths: Tensor) -> Tensor:
    """(B, T, d) → (B, d): the mean over each sentence's own words."""
    inside = torch.arange(words.shape[1], device=words.device) < lengths[:, None]  # (B, T)
    return (words * inside[:, :, None]).sum(1) / lengths.clamp(min=1)[:, None]
