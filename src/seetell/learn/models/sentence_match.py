"""Our own retriever: features of all layers on one side, a sentence encoder on the other, two small networks between.

Both sides are x → normalise(W₂ gelu(W₁ x) + W₃ x), with dropout before W₁ and W₂. The image's network is not trained,
and of the sentence encoder its last layers at most: what comes before them is read once for all. Several such pairs may
be trained side by side, each by a loss of its own; their embeddings are put end to end, so that the similarity is the
mean of theirs.
"""

import copy
import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.encoders import Standardise
from seetell.learn.models.sentences import MOST_PIECES, SentenceEncoder, load_sentence_encoder, summed_up
from seetell.learn.recipes import RecipeError

AT_ONCE = 256  # captions of about one length that are trained on side by side: little is spent on padding


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
    features: width of the image's features, as the transform gives them.
    transform: of them.
    dimensions: of the embeddings, all pairs together.
    hidden: width of each pair's W₁.
    pairs: how many.
    trained_layers: so many of the sentence encoder's layers, the last, are trained along; they belong to this model.
    text_learning_rate: theirs.
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
        image_dropout: float = 0.5,
        text_dropout: float = 0.5,
        trained_layers: int = 0,
        text_learning_rate: float = 1e-4,
        sentences: SentenceEncoder | None = None,
    ) -> None:
        super().__init__()
        if pairs < 1 or dimensions % pairs:
            raise RecipeError(f"{dimensions} dimensions cannot be shared by {pairs} pairs", where="[model]")
        self.dimensions, self.pairs = dimensions, pairs
        self.transform = transform
        # In a tuple, so that its weights are neither trained nor saved with this model's.
        self._frozen = (sentences or load_sentence_encoder(),)
        layers = self.sentences.layers
        if not 0 <= trained_layers <= len(layers):
            raise RecipeError(f"the sentence encoder has {len(layers)} layers, not {trained_layers}", where="[model]")
        self.frozen_layers, self.learning_rate = len(layers) - trained_layers, text_learning_rate
        self.encoder = nn.ModuleList(copy.deepcopy(layer) for layer in layers[self.frozen_layers :]).requires_grad_()
        # What it scales is scaled again below; one of MiniLM's factors is 1e-32, and its gradient infinite.
        if self.encoder:
            self.encoder[-1].outer_norm.requires_grad_(False)
        self.text_transform = Standardise(self.sentences.dimensions)
        read, each = self.sentences.dimensions, dimensions // pairs
        self.image_sides = nn.ModuleList(Side(features, hidden, each, image_dropout) for _ in range(pairs))
        self.text_sides = nn.ModuleList(Side(read, hidden, each, text_dropout) for _ in range(pairs))

    @property
    def sentences(self) -> SentenceEncoder:
        return self._frozen[0]

    def images(self, features: Tensor) -> Tensor:
        """(B, features) → (B, dimensions)."""
        return self._end_to_end(self.image_sides, self.transform(features))

    @torch.no_grad()
    def read(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """What is frozen of the text side: (B, T) pieces and (B,) lengths → (B, 2 × the sentence encoder's width) or,
        where layers are trained, what these are given (B, T + 2, width)."""
        sentences = self.sentences.to(next(self.parameters()).device)
        tokens, lengths = tokens[:, :MOST_PIECES], lengths.clamp(max=MOST_PIECES)
        states, inside = sentences.states(tokens, lengths, self.frozen_layers)
        return states if self.encoder else summed_up(states, inside)

    def summed(self, text_states: Tensor, lengths: Tensor) -> Tensor:
        """What `read` gave, through the layers that are trained: (B, 2 × width)."""
        if not self.encoder:
            return text_states
        lengths = lengths.clamp(max=MOST_PIECES) + 2  # with start and end
        if not self.training:
            return self._summed(text_states, lengths)
        order = lengths.argsort(stable=True)
        parts = [
            self._summed(text_states[some, : int(lengths[some[-1]])], lengths[some])
            for some in torch.split(order, AT_ONCE)
        ]
        return torch.cat(parts)[order.argsort()]

    def texts_read(self, text_states: Tensor, lengths: Tensor) -> Tensor:
        """The rest of the text side: what `read` gave → (B, dimensions)."""
        return self._end_to_end(self.text_sides, self.text_transform(self.summed(text_states, lengths)) / 2)

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) pieces and (B,) lengths → (B, dimensions)."""
        return self.texts_read(self.read(tokens, lengths), lengths)

    def fit_texts(self, summed: Tensor) -> None:
        """Learn the scale of what is read from the training captions."""
        self.text_transform = Standardise.fit([summed.numpy()])

    def _summed(self, states: Tensor, lengths: Tensor) -> Tensor:
        inside = (torch.arange(states.shape[1], device=states.device) < lengths[:, None]).to(states.dtype)
        for layer in self.encoder:
            states = layer(states, inside)
        return summed_up(states, inside)

    def _end_to_end(self, sides: nn.ModuleList, features: Tensor) -> Tensor:
        """All pairs' embeddings, as one vector of unit length."""
        return torch.cat([side(features) for side in sides], -1) / math.sqrt(self.pairs)
