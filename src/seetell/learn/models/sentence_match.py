"""Our own retriever: features of all layers on one side, a sentence encoder on the other, two small networks between.

Both sides are x → normalise(W₂ gelu(W₁ x) + W₃ x), with dropout before W₁ and W₂. The image network is not trained, and
of the sentence encoder at most its last layers: the output of the frozen ones is computed only once. Several such pairs
may be trained in parallel, each by its own loss; their embeddings are concatenated, so that the similarity is the mean
of theirs.
"""

import copy
import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.encoders import Standardise
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.sentences import MOST_PIECES, SentenceEncoder, load_sentence_encoder, summed_up
from seetell.learn.recipes import RecipeError
from seetell.learn.recipes.model_settings import SentenceMatchSettings

AT_ONCE = 256  # captions of similar length per training chunk, to save padding


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
    """Image features and sentences, mapped into one space by one or more pairs of small networks.

    Args:
        settings: see `SentenceMatchSettings`.
        inputs: `features` is the width of the image features; `sentences` is not part of a checkpoint.
    """

    similarity: Literal["cosine"] = "cosine"

    def __init__(self, settings: SentenceMatchSettings, inputs: ModelInputs) -> None:
        super().__init__()
        self.dimensions, self.pairs = settings.dimensions, settings.pairs
        self.transform = inputs.transform
        # In a tuple, so that its weights are neither trained nor saved with this model's.
        self._frozen = (inputs.sentences or load_sentence_encoder(),)
        layers, trained = self.sentences.layers, settings.trained_layers
        if trained > len(layers):
            raise RecipeError(
                f"the sentence encoder has {len(layers)} layers, not {trained}", where="[model] trained_layers"
            )
        self.frozen_layers, self.learning_rate = len(layers) - trained, settings.text_learning_rate
        self.encoder = nn.ModuleList(copy.deepcopy(layer) for layer in layers[self.frozen_layers :]).requires_grad_()
        # Its outputs are standardised below; one of MiniLM's factors is 1e-32, and its gradient infinite.
        if self.encoder:
            self.encoder[-1].outer_norm.requires_grad_(False)
        self.text_transform = Standardise(self.sentences.dimensions)
        read, each, hidden = self.sentences.dimensions, self.dimensions // self.pairs, settings.hidden
        self.image_sides = nn.ModuleList(
            Side(inputs.features, hidden, each, settings.image_dropout) for _ in range(self.pairs)
        )
        self.text_sides = nn.ModuleList(Side(read, hidden, each, settings.text_dropout) for _ in range(self.pairs))

    @property
    def sentences(self) -> SentenceEncoder:
        return self._frozen[0]

    def images(self, features: Tensor) -> Tensor:
        """(B, features) → (B, dimensions)."""
        return self._concatenated(self.image_sides, self.transform(features))

    @torch.no_grad()
    def read(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """The frozen part of the text side: (B, T) pieces and (B,) lengths → (B, 2 × the sentence encoder's width) or,
        if layers are trained, their inputs (B, T + 2, width)."""
        sentences = self.sentences.to(next(self.parameters()).device)
        tokens, lengths = tokens[:, :MOST_PIECES], lengths.clamp(max=MOST_PIECES)
        states, inside = sentences.states(tokens, lengths, self.frozen_layers)
        return states if self.encoder else summed_up(states, inside)

    def summed(self, text_states: Tensor, lengths: Tensor) -> Tensor:
        """The result of `read`, through the trained layers: (B, 2 × width)."""
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
        """The rest of the text side: the result of `read` → (B, dimensions)."""
        return self._concatenated(self.text_sides, self.text_transform(self.summed(text_states, lengths)) / 2)

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) pieces and (B,) lengths → (B, dimensions)."""
        return self.texts_read(self.read(tokens, lengths), lengths)

    def fit_texts(self, summed: Tensor) -> None:
        """Fit the standardisation of the sentence encoder's outputs on the training captions."""
        self.text_transform = Standardise.fit([summed.numpy()])

    def _summed(self, states: Tensor, lengths: Tensor) -> Tensor:
        inside = (torch.arange(states.shape[1], device=states.device) < lengths[:, None]).to(states.dtype)
        for layer in self.encoder:
            states = layer(states, inside)
        return summed_up(states, inside)

    def _concatenated(self, sides: nn.ModuleList, features: Tensor) -> Tensor:
        """All pairs' embeddings, as one vector of unit length."""
        return torch.cat([side(features) for side in sides], -1) / math.sqrt(self.pairs)
