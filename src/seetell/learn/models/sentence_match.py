"""Our own retriever: features of all layers on one side, a sentence encoder on the other, two small networks between.

Both sides are x → normalise(W₂ gelu(W₁ x) + W₃ x), with dropout before W₁ and W₂. Neither the picture's network nor the
sentence encoder is trained: with some thousand pictures there is more to lose than to gain. Several such pairs may be
trained side by side, each by a loss of its own; their embeddings are put end to end, so that the similarity is the mean
of theirs.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.encoders import Standardise
from seetell.learn.models.sentences import MOST_PIECES, SentenceEncoder, load_sentence_encoder
from seetell.learn.recipes import RecipeError


class Side(nn.Module):
    """One side of a pair."""

    def __init__(self, features: int, hidden: int, dimensions: int, dropout: float) -> None:
        super().__init__()
        self.deep = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(features, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, dimensions),
        )
        self.straight = nn.Linear(features, dimensions, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """(B, features) → (B, dimensions)."""
        return normalize(self.deep(features) + self.straight(features), dim=-1)


class SentenceMatch(nn.Module):
    """Args:
    features: width of the picture's features, as the transform gives them.
    transform: of them.
    dimensions: of the embeddings, all pairs together.
    hidden: width of each pair's W₁.
    pairs: how many.
    sentences: the sentence encoder, frozen; the installed one unless told. It is no part of a checkpoint.
    """

    similarity: Literal["cosine"] = "cosine"

    def __init__(
        self,
        features: int,
        transform: nn.Module,
        dimensions: int = 768,
        hidden: int = 1024,
        pairs: int = 1,
        picture_dropout: float = 0.5,
        text_dropout: float = 0.5,
        sentences: SentenceEncoder | None = None,
    ) -> None:
        super().__init__()
        if pairs < 1 or dimensions % pairs:
            raise RecipeError(f"{dimensions} dimensions cannot be shared by {pairs} pairs", where="[model]")
        self.dimensions, self.pairs = dimensions, pairs
        self.transform = transform
        # In a tuple, so that its weights are neither trained nor saved with this model's.
        self._frozen = (sentences or load_sentence_encoder(),)
        self.text_transform = Standardise(self.sentences.dimensions)
        read, each = self.sentences.dimensions, dimensions // pairs
        self.picture_sides = nn.ModuleList(Side(features, hidden, each, picture_dropout) for _ in range(pairs))
        self.text_sides = nn.ModuleList(Side(read, hidden, each, text_dropout) for _ in range(pairs))

    @property
    def sentences(self) -> SentenceEncoder:
        return self._frozen[0]

    def pictures(self, features: Tensor) -> Tensor:
        """(B, features) → (B, dimensions)."""
        return self._end_to_end(self.picture_sides, self.transform(features))

    def read(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """What is frozen of the text side: (B, T) pieces and (B,) lengths → (B, 2 × the sentence encoder's width)."""
        sentences = self.sentences.to(next(self.parameters()).device)
        readings: Tensor = sentences(tokens[:, :MOST_PIECES], lengths.clamp(max=MOST_PIECES))
        return readings

    def texts_read(self, readings: Tensor) -> Tensor:
        """The rest of it: what `read` gave → (B, dimensions)."""
        return self._end_to_end(self.text_sides, self.text_transform(readings) / 2)

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) pieces and (B,) lengths → (B, dimensions)."""
        return self.texts_read(self.read(tokens, lengths))

    def fit_texts(self, readings: Tensor) -> None:
        """Learn the scale of what is read from the training captions."""
        self.text_transform = Standardise.fit([readings.numpy()])

    def _end_to_end(self, sides: nn.ModuleList, features: Tensor) -> Tensor:
        """All pairs' embeddings, as one vector of unit length."""
        return torch.cat([side(features) for side in sides], -1) / math.sqrt(self.pairs)
