"""Our own retriever: attention pooling on both sides of a two-tower network.

The image's grid is mapped to vectors v_l, and several learned queries each look at it,

    a_kl = softmax_l(q_k · tanh(A v_l)),     p = normalise(W [Σ_l a_1l v_l; …; Σ_l a_Kl v_l] + W' max_l v_l)

so that small things are not averaged away. The text side reads word vectors with a bidirectional GRU and pools its
states in the same way. Word vectors are pre-trained ones with a learned correction, so that a query may use words that
no training caption had (see `WordVectors`).
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.models.text import WordVectors, run_packed


class AttentionPooling(nn.Module):
    """Several looks at a set of vectors, and their maximum, mapped to one vector."""

    def __init__(self, inside: int, outside: int, looks: int, hidden: int = 256) -> None:
        super().__init__()
        self.hidden = nn.Linear(inside, hidden)
        self.queries = nn.Linear(hidden, looks, bias=False)
        self.join = nn.Linear(inside * looks, outside)
        self.peak = nn.Linear(inside, outside, bias=False)

    def forward(self, vectors: Tensor, inside: Tensor | None = None) -> Tensor:
        """(B, L, d) → (B, outside); `inside` (B, L) marks what is not padding."""
        scores = self.queries(torch.tanh(self.hidden(vectors)))  # (B, L, looks)
        peaks = vectors
        if inside is not None:
            scores = scores.masked_fill(~inside[:, :, None], float("-inf"))
            peaks = vectors.masked_fill(~inside[:, :, None], float("-inf"))
        looks = scores.softmax(1).transpose(1, 2) @ vectors  # (B, looks, d)
        joined: Tensor = self.join(looks.flatten(1)) + self.peak(peaks.amax(1))
        return joined


class AttentiveMatch(nn.Module):
    """Args:
    features: width of one annotation vector of the grid.
    words: size of the vocabulary; `trained` of them are of the training captions.
    hidden: width in which the grid is pooled.
    looks: how many places each side looks at.
    """

    similarity: Literal["cosine"] = "cosine"

    def __init__(
        self,
        features: int,
        words: int,
        transform: nn.Module,
        dimensions: int = 1024,
        hidden: int = 1024,
        word_dimensions: int = 300,
        units: int = 512,
        looks: int = 4,
        image_dropout: float = 0.3,
        text_dropout: float = 0.3,
        vectors: Tensor | None = None,
        trained: int | None = None,
    ) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.transform = transform
        self.map = nn.Sequential(
            nn.Dropout(image_dropout), nn.Linear(features, hidden), nn.GELU(), nn.LayerNorm(hidden)
        )
        self.image_pooling = AttentionPooling(hidden, dimensions, looks)
        self.words = WordVectors(words, word_dimensions, vectors, mode="corrected", trained=trained)
        self.recurrent = nn.GRU(self.words.dimensions, units, batch_first=True, bidirectional=True)
        self.text_pooling = AttentionPooling(2 * units, dimensions, looks)
        self.word_dropout, self.state_dropout = nn.Dropout(text_dropout), nn.Dropout(text_dropout)

    def images(self, features: Tensor) -> Tensor:
        """(B, L, features) → (B, dimensions)."""
        return normalize(self.image_pooling(self.map(self.transform(features))), dim=1)

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) word numbers and (B,) lengths → (B, dimensions)."""
        states, _ = run_packed(self.recurrent, self.word_dropout(self.words(tokens)), lengths)
        inside = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        return normalize(self.text_pooling(self.state_dropout(states), inside), dim=1)
