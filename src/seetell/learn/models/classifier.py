"""Taggers without a sequence: every label has a score of its own.

`Classifier` is the CNN-only baseline of Ren's Table 3, a linear layer over the network's final vector, s = W x + b; the
loss makes it Softmax, WARP or binary cross-entropy.

`GridClassifier` is ours. It scores every location z_l of the grid for every label k, and lets each label weight the
locations, so that small objects are not averaged away:

    s_lk = w_k · z_l + b_k
    s_k = mean_l s_lk + λ Σ_l a_lk s_lk,      a_lk = softmax_l(T s_lk)

which is class-specific residual attention (Zhu and Wu, 2021). T = 0 is averaging; the larger T, the closer to the
maximum. Several heads, each with its own w and T, are summed.

Departures of ours: label weights are not normalised; locations may first be averaged in overlapping windows, which
loses little because neighbours are similar; they may pass a hidden layer, z = LayerNorm(GELU(V x)); and dropout removes
a feature from all locations of an image at once, since its neighbours would otherwise make up for it.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, dropout

from seetell.learn.models.inputs import ModelInputs
from seetell.learn.recipes.model_settings import ClassifierSettings, GridClassifierSettings


class Scorer(nn.Module):
    """Base class of models with a logit per label, (B, labels).

    Args:
        labels: how many there are.
        transform: applied to raw features first; fitted on the training split.
        activation: what turns logits into confidences: "sigmoid", per label, or "softmax".
    """

    thresholds: Tensor  # (labels,): labels with a logit above it are given; fitted at every validation

    def __init__(
        self, labels: int, transform: nn.Module, activation: Literal["sigmoid", "softmax"] = "sigmoid"
    ) -> None:
        super().__init__()
        self.transform = transform
        self.activation = activation
        self.register_buffer("thresholds", torch.zeros(labels))

    def confidence(self, logits: Tensor) -> Tensor:
        """From 0 to 1; with "sigmoid", 0.5 at the threshold."""
        return logits.softmax(1) if self.activation == "softmax" else (logits - self.thresholds).sigmoid()


class Classifier(Scorer):
    """A linear layer over the image's vector.

    Args:
        settings: see `ClassifierSettings`.
        inputs: `features` is the width of the image's vector, `labels` the number of labels.
    """

    def __init__(self, settings: ClassifierSettings, inputs: ModelInputs) -> None:
        super().__init__(inputs.labels, inputs.transform, settings.activation)
        self.dropout = nn.Dropout(settings.dropout)
        self.output = nn.Linear(inputs.features, inputs.labels)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, features: Tensor) -> Tensor:
        """(B, features) → logits (B, labels)."""
        logits: Tensor = self.output(self.dropout(self.transform(features)))
        return logits


class GridClassifier(Scorer):
    """Class-specific residual attention over the grid.

    Args:
        settings: see `GridClassifierSettings`.
        inputs: `features` is the width of one location of the grid, `labels` the number of labels.
    """

    def __init__(self, settings: GridClassifierSettings, inputs: ModelInputs) -> None:
        super().__init__(inputs.labels, inputs.transform)
        self.temperatures, self.weight = settings.temperatures, settings.weight
        self.window, self.image_dropout, self.dropout = settings.window, settings.image_dropout, settings.dropout
        features, hidden = inputs.features, settings.hidden
        self.hidden: nn.Module = nn.Identity()
        if hidden:
            self.hidden = nn.Sequential(nn.Linear(features, hidden), nn.GELU(), nn.LayerNorm(hidden))
        self.heads = nn.ModuleList(nn.Linear(hidden or features, inputs.labels) for _ in self.temperatures)

    def forward(self, features: Tensor) -> Tensor:
        """(B, locations, features) → logits (B, labels)."""
        locations = self._drop(self._locations(features), self.dropout)
        logits = []
        for head, temperature in zip(self.heads, self.temperatures, strict=True):
            scores = head(locations)  # (B, locations, labels)
            attention = (temperature * scores).softmax(1)
            logits.append(scores.mean(1) + self.weight * (attention * scores).sum(1))
        return torch.stack(logits).sum(0)

    @torch.no_grad()
    def attention(self, features: Tensor) -> Tensor:
        """Where each label attends (B, locations or windows, labels): the mean of the heads' a_lk."""
        locations = self._locations(features)
        looks = [(t * head(locations)).softmax(1) for head, t in zip(self.heads, self.temperatures, strict=True)]
        return torch.stack(looks).mean(0)

    def _locations(self, features: Tensor) -> Tensor:
        """The inputs of the label weights, before dropout: (B, locations or windows, features or hidden)."""
        locations = self.transform(features)
        if self.window > 1:
            side = math.isqrt(locations.shape[1])
            grid = locations.transpose(1, 2).unflatten(2, (side, side))
            locations = avg_pool2d(grid, min(self.window, side), stride=2).flatten(2).transpose(1, 2)
        hidden: Tensor = self.hidden(self._drop(locations, self.image_dropout))
        return hidden

    def _drop(self, locations: Tensor, rate: float) -> Tensor:
        """Dropout that removes a feature from all locations of an image."""
        if not self.training or not rate:
            return locations
        return locations * dropout(locations.new_ones(locations.shape[0], 1, locations.shape[2]), rate)
