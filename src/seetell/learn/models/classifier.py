"""Taggers without a sequence: every label has a score of its own.

`Classifier` is the CNN-only baseline of Ren's Table 3, a linear layer over the network's final vector, s = W x + b; the
loss makes it Softmax, WARP or binary cross-entropy.

`GridClassifier` is ours. It scores every place z_l of the grid for every label k, and lets each label choose its
places, so that small things are not averaged away:

    s_lk = w_k · z_l + b_k
    s_k = mean_l s_lk + λ Σ_l a_lk s_lk,      a_lk = softmax_l(T s_lk)

which is class-specific residual attention (Zhu and Wu, 2021). T = 0 is averaging; the greater T, the nearer to the
maximum. Several heads, each with its own w and T, are added up.

Departures of ours: label weights are not normalised; places may first be averaged in windows that overlap, which costs
little because neighbours see almost the same; they may pass a hidden layer, z = LayerNorm(GELU(V x)); and dropout takes
a feature away from all places of an image at once, since from a few of them it would hardly be missed.
"""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, dropout


class Scorer(nn.Module):
    """A model that gives every label a logit of its own, (B, labels).

    Args:
        labels: how many there are.
        transform: what is done to raw features first; fitted on the training split.
        activation: what makes logits confidences: "sigmoid", each label for itself, or "softmax".
    """

    thresholds: Tensor  # (labels,): the logits from which on labels are given; fitted when the model is validated

    def __init__(
        self, labels: int, transform: nn.Module, activation: Literal["sigmoid", "softmax"] = "sigmoid"
    ) -> None:
        super().__init__()
        self.transform = transform
        self.activation = activation
        self.register_buffer("thresholds", torch.zeros(labels))

    def confidence(self, logits: Tensor) -> Tensor:
        """From 0 to 1; with "sigmoid", a half at the threshold."""
        return logits.softmax(1) if self.activation == "softmax" else (logits - self.thresholds).sigmoid()


class Classifier(Scorer):
    """Args:
    features: width of the image's vector.
    labels: how many there are.
    transform: what is done to raw features first; fitted on the training split.
    dropout: on the features.
    activation: see `Scorer`.
    """

    def __init__(
        self,
        features: int,
        labels: int,
        transform: nn.Module,
        dropout: float = 0.5,
        activation: Literal["sigmoid", "softmax"] = "sigmoid",
    ) -> None:
        super().__init__(labels, transform, activation)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(features, labels)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, features: Tensor) -> Tensor:
        """(B, features) → logits (B, labels)."""
        logits: Tensor = self.output(self.dropout(self.transform(features)))
        return logits


class GridClassifier(Scorer):
    """Args:
    features: width of one place of the grid.
    labels: how many there are.
    transform: what is done to raw features first; fitted on the training split.
    window: of a square grid, so many by so many places are averaged to one, and windows begin every other place; 1:
        places stay as they are.
    hidden: width of the hidden layer; 0: none.
    temperatures: T of each head.
    weight: λ.
    dropout: on what the label weights read.
    image_dropout: on the features.
    """

    def __init__(
        self,
        features: int,
        labels: int,
        transform: nn.Module,
        window: int = 1,
        hidden: int = 0,
        temperatures: Sequence[float] = (1.0,),
        weight: float = 0.5,
        dropout: float = 0.3,
        image_dropout: float = 0.0,
    ) -> None:
        super().__init__(labels, transform)
        self.temperatures, self.weight = tuple(temperatures), weight
        self.window, self.image_dropout, self.dropout = window, image_dropout, dropout
        if hidden:
            self.hidden: nn.Module = nn.Sequential(nn.Linear(features, hidden), nn.GELU(), nn.LayerNorm(hidden))
        else:
            self.hidden = nn.Identity()
        self.heads = nn.ModuleList(nn.Linear(hidden or features, labels) for _ in self.temperatures)

    def forward(self, features: Tensor) -> Tensor:
        """(B, places, features) → logits (B, labels)."""
        places = self._drop(self._places(features), self.dropout)
        logits = []
        for head, temperature in zip(self.heads, self.temperatures, strict=True):
            scores = head(places)  # (B, places, labels)
            attention = (temperature * scores).softmax(1)
            logits.append(scores.mean(1) + self.weight * (attention * scores).sum(1))
        return torch.stack(logits).sum(0)

    @torch.no_grad()
    def attention(self, features: Tensor) -> Tensor:
        """Where each label looks (B, places or windows, labels): the mean of the heads' a_lk."""
        places = self._places(features)
        looks = [(t * head(places)).softmax(1) for head, t in zip(self.heads, self.temperatures, strict=True)]
        return torch.stack(looks).mean(0)

    def _places(self, features: Tensor) -> Tensor:
        """What the label weights read, before dropout: (B, places or windows, features or hidden)."""
        places = self.transform(features)
        if self.window > 1:
            side = math.isqrt(places.shape[1])
            grid = places.transpose(1, 2).unflatten(2, (side, side))
            places = avg_pool2d(grid, min(self.window, side), stride=2).flatten(2).transpose(1, 2)
        hidden: Tensor = self.hidden(self._drop(places, self.image_dropout))
        return hidden

    def _drop(self, places: Tensor, share: float) -> Tensor:
        """Dropout that takes a feature from all places of an image."""
        if not self.training or not share:
            return places
        return places * dropout(places.new_ones(places.shape[0], 1, places.shape[2]), share)
