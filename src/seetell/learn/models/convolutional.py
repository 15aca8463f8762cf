"""The CNN-CNN captioner of Vaishali's survey (Aneja et al.): masked convolutions over the words, no recurrence.

    x⁰_t = W_e E w_t + W_v ā                                   ā: the mean of the annotation vectors a_i
    y_t = GLU(W x_{t−k+1 … t} + b),   GLU([a; b]) = a σ(b)       causal
    α_t = softmax_i((W_q y_t + x⁰_t) · K a_i / √H)               attention over the grid, in every layer
    x'_t = (x_t + y_t + W_z Σ_i α_ti K a_i) / √2                 residual
    p(w_{t+1}) = softmax(W_o dropout(W_h x_t))

In training all positions are computed at once. When generating word by word, the state is the last k − 1 inputs of
each layer. The attention reported is the mean over the layers.

Departures: weights are not reparametrised by their norm; keys and values of the attention are one map K, shared by the
layers, so that a state stays small; the survey gives no sizes, so layers, kernel and width are those of Aneja et al.
"""

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn.functional import glu, log_softmax, pad

from seetell.learn.models.captioner import CaptionModel, State, TeacherForced
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.packing import Packing
from seetell.learn.models.text import caption_words
from seetell.learn.recipes.model_settings import ConvolutionalSettings


class GatedConvolution(nn.Module):
    """A gated causal convolution over `kernel` positions, then attention over the grid."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.convolution = nn.Linear(kernel * width, 2 * width)
        self.query = nn.Linear(width, width)
        self.context = nn.Linear(width, width)

    def forward(
        self, x: Tensor, windows: Tensor, first: Tensor, grid: Tensor, packing: Packing | None = None
    ) -> tuple[Tensor, Tensor]:
        """One position of each caption, or all positions, packed.

        Args:
            x: (N, H), the inputs.
            windows: (N, kernel, H), the inputs up to each position, the position itself last.
            first: (N, H), x⁰.
            grid: (B, L, H), K a.
            packing: of the N positions; without it, one position per caption.

        Returns:
            The outputs (N, H), and α (B, T, L).
        """
        gated = glu(self.convolution(windows.flatten(1)), dim=1)
        query = self.query(gated) + first
        query = query[:, None] if packing is None else packing.unpack(query)  # (B, T, H)
        attention = (query @ grid.transpose(1, 2) / sqrt(grid.shape[2])).softmax(2)
        seen = attention @ grid
        seen = seen[:, 0] if packing is None else packing.pack(seen)
        return (x + gated + self.context(seen)) / sqrt(2), attention


class Convolutional(CaptionModel):
    """Causal convolutions over the words, with attention over the grid in every layer.

    Args:
        settings: see `ConvolutionalSettings`.
        inputs: `features` is the width of one annotation vector.
    """

    constant = frozenset({"grid", "image"})

    def __init__(self, settings: ConvolutionalSettings, inputs: ModelInputs) -> None:
        super().__init__()
        self.kernel, width = settings.kernel, settings.width
        self.transform = inputs.transform
        self.words = caption_words(settings, inputs)
        self.word_map = nn.Linear(self.words.dimensions, width)
        self.image_map = nn.Linear(inputs.features, width)
        self.grid_map = nn.Linear(inputs.features, width)  # K
        self.layers = nn.ModuleList(GatedConvolution(width, settings.kernel) for _ in range(settings.layers))
        self.hidden = nn.Linear(width, self.words.dimensions)
        self.output = nn.Linear(self.words.dimensions, inputs.words)
        self.dropout = nn.Dropout(settings.dropout)

    def start(self, features: Tensor) -> State:
        """Images (B, L, features)."""
        annotations = self.transform(features)
        image = self.image_map(annotations.mean(1))
        past = image.new_zeros(image.shape[0], len(self.layers), self.kernel - 1, image.shape[1])
        return {"grid": self.grid_map(annotations), "image": image, "past": past}

    def read(self, tokens: Tensor, state: State) -> TeacherForced:
        """All positions at once; padding is computed in the attention only, where it costs little."""
        packing = Packing.of(tokens)
        captions = packing.index // packing.shape[1]
        # The start of each word's window, with kernel − 1 zeros before every caption.
        first_index = packing.index + captions * (self.kernel - 1)
        index = (first_index[:, None] + torch.arange(self.kernel, device=tokens.device)).flatten()
        first = x = self._read(packing.pack(tokens), state["image"].index_select(0, captions))  # (N, H)
        looks = []
        for layer in self.layers:
            before = pad(packing.unpack(self.dropout(x)), (0, 0, self.kernel - 1, 0)).flatten(0, 1)
            windows = before.index_select(0, index).view(-1, self.kernel, x.shape[1])
            x, attention = layer(x, windows, first, state["grid"], packing)
            looks.append(attention)
        return TeacherForced(packing.unpack(self._logits(x)), torch.stack(looks).mean(0))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        first = x = self._read(tokens, state["image"])  # (B, H)
        past, looks = [], []
        for layer, before in zip(self.layers, state["past"].unbind(1), strict=True):
            window = torch.cat([before, self.dropout(x)[:, None]], dim=1)  # (B, kernel, H)
            past.append(window[:, 1:])
            x, attention = layer(x, window, first, state["grid"])
            looks.append(attention[:, 0])
        state = {**state, "past": torch.stack(past, dim=1)}
        return log_softmax(self._logits(x), dim=1), state, torch.stack(looks).mean(0)

    def _read(self, tokens: Tensor, image: Tensor) -> Tensor:
        words: Tensor = self.word_map(self.dropout(self.words(tokens)))
        return words + image

    def _logits(self, x: Tensor) -> Tensor:
        logits: Tensor = self.output(self.dropout(self.hidden(x)))
        return logits
