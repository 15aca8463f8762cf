"""Our own retriever: attention pooling on both sides of a two-tower network.

The image's grid is mapped to vectors v_l, and several learned queries attend to it,

    a_kl = softmax_l(q_k · tanh(A v_l)),     p = normalise(W [Σ_l a_1l v_l; …; Σ_l a_Kl v_l] + W' max_l v_l)

so that small objects are not averaged away. The text side reads word vectors with a bidirectional GRU and pools its
states in the same way. Word vectors are pre-trained, with a learned correction, so that a query may use words that
occur in no training caption (see `WordEmbedding`).
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.text import WordEmbedding, run_packed
from seetell.learn.recipes.model_settings import AttentiveMatchSettings


class AttentionPooling(nn.Module):
    """Several attention-weighted sums of a set of vectors, and its maximum, mapped to one vector.

    Args:
        inside: width of the vectors.
        outside: width of the result.
        looks: how many sums.
        hidden: width of the attention's hidden layer.
    """

    def __init__(self, inside: int, outside: int, looks: int, hidden: int = 256) -> None:
        super().__init__()
        self.hidden = nn.Linear(inside, hidden)
        self.queries = nn.Linear(hidden, looks, bias=False)
        self.join = nn.Linear(inside * looks, outside)
        self.peak = nn.Linear(inside, outside, bias=False)

    def forward(self, vectors: Tensor, inside: Tensor | None = None) -> Tensor:
        """(B, L, d) → (B, outside); the mask `inside` (B, L) is False for padding."""
        scores = self.queries(torch.tanh(self.hidden(vectors)))  # (B, L, looks)
        peaks = vectors
        if inside is not None:
            scores = scores.masked_fill(~inside[:, :, None], float("-inf"))
            peaks = vectors.masked_fill(~inside[:, :, None], float("-inf"))
        looks = scores.softmax(1).transpose(1, 2) @ vectors  # (B, looks, d)
        joined: Tensor = self.join(looks.flatten(1)) + self.peak(peaks.amax(1))
        return joined


class AttentiveMatch(nn.Module):
    """Two towers with attention pooling.

    Args:
        settings: see `AttentiveMatchSettings`.
        inputs: `features` is the width of one annotation vector.
    """

    similarity: Literal["cosine"] = "cosine"

    def __init__(self, settings: AttentiveMatchSettings, inputs: ModelInputs) -> None:
        super().__init__()
        self.dimensions, hidden, units = settings.dimensions, settings.hidden, settings.units
        self.transform = inputs.transform
        self.map = nn.Sequential(
            nn.Dropout(settings.image_dropout), nn.Linear(inputs.features, hidden), nn.GELU(), nn.LayerNorm(hidden)
        )
        self.image_pooling = AttentionPooling(hidden, self.dimensions, settings.looks)
        self.words = WordEmbedding(
            inputs.words, settings.word_dimensions, inputs.vectors, mode="corrected", trained=inputs.trained
        )
        self.recurrent = nn.GRU(self.words.dimensions, units, batch_first=True, bidirectional=True)
        self.text_pooling = AttentionPooling(2 * units, self.dimensions, settings.looks)
        self.word_dropout, self.state_dropout = nn.Dropout(settings.text_dropout), nn.Dropout(settings.text_dropout)

    def images(self, features: Tensor) -> Tensor:
        """(B, L, features) → (B, dimensions)."""
        return normalize(self.image_pooling(self.map(self.transform(features))), dim=1)

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) word indices and (B,) lengths → (B, dimensions)."""
        states, _ = run_packed(self.recurrent, self.word_dropout(self.words(tokens)), lengths)
        inside = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        return normalize(self.text_pooling(self.state_dropout(states), inside), dim=1)
