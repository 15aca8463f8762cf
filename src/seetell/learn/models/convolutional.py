"""The CNN-CNN captioner of Vaishali's survey (Aneja et al.): masked convolutions over the words, no recurrence.

    x⁰_t = W_e E w_t + W_v ā                                   ā: the mean of the annotation vectors a_i
    y_t = GLU(W x_{t−k+1 … t} + b),   GLU([a; b]) = a σ(b)       sees no later word
    α_t = softmax_i((W_q y_t + x⁰_t) · K a_i / √H)               attention over the grid, in every layer
    x'_t = (x_t + y_t + W_z Σ_i α_ti K a_i) / √2                 residual
    p(w_{t+1}) = softmax(W_o dropout(W_h x_t))

In training all places are computed at once. When telling word by word, the state is the last k − 1 inputs of each
layer. The attention reported is the mean over the layers.

Departures: weights are not reparametrised by their norm; keys and values of the attention are one map K, shared by the
layers, so that a state stays small; the survey gives no sizes, so layers, kernel and width are those of Aneja et al.
"""

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn.functional import glu, log_softmax, pad

from seetell.learn.models.captioner import CaptionModel, State, Teacher
from seetell.learn.models.packing import Packing
from seetell.learn.models.text import WordVectors


class Layer(nn.Module):
    """A gated convolution that looks back `kernel` places, then at the grid."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.convolution = nn.Linear(kernel * width, 2 * width)
        self.query = nn.Linear(width, width)
        self.context = nn.Linear(width, width)

    def forward(
        self, x: Tensor, windows: Tensor, first: Tensor, grid: Tensor, packing: Packing | None = None
    ) -> tuple[Tensor, Tensor]:
        """One place of each caption, or all places, packed.

        Args:
            x: (N, H), what comes in.
            windows: (N, kernel, H), what has come in up to each place, the place itself being the last.
            first: (N, H), x⁰.
            grid: (B, L, H), K a.
            packing: of the N places; without it, there is one a caption.

        Returns:
            What goes out (N, H), and α (B, T, L).
        """
        gated = glu(self.convolution(windows.flatten(1)), dim=1)
        query = self.query(gated) + first
        query = query[:, None] if packing is None else packing.unpack(query)  # (B, T, H)
        attention = (query @ grid.transpose(1, 2) / sqrt(grid.shape[2])).softmax(2)
        seen = attention @ grid
        seen = seen[:, 0] if packing is None else packing.pack(seen)
        return (x + gated + self.context(seen)) / sqrt(2), attention


class Convolutional(CaptionModel):
    """Args:
    features: width of one annotation vector of the grid.
    words: size of the vocabulary.
    transform: what is done to raw features first; fitted on the training split.
    width: of every layer.
    kernel: how many places a convolution sees: its own and those before it.
    word_dimensions: of a learned word vector; given ones have their own.
    vectors: pre-trained word vectors, if any.
    freeze: leave given word vectors as they are.
    """

    constant = frozenset({"grid", "image"})

    def __init__(
        self,
        features: int,
        words: int,
        transform: nn.Module,
        width: int = 512,
        layers: int = 3,
        kernel: int = 5,
        word_dimensions: int = 512,
        dropout: float = 0.2,
        vectors: Tensor | None = None,
        freeze: bool = False,
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.transform = transform
        self.words = WordVectors(words, word_dimensions, vectors, mode="frozen" if freeze else "tuned")
        self.word_map = nn.Linear(self.words.dimensions, width)
        self.image_map = nn.Linear(features, width)
        self.grid_map = nn.Linear(features, width)  # K
        self.layers = nn.ModuleList(Layer(width, kernel) for _ in range(layers))
        self.hidden = nn.Linear(width, self.words.dimensions)
        self.output = nn.Linear(self.words.dimensions, words)
        self.dropout = nn.Dropout(dropout)

    def start(self, features: Tensor) -> State:
        """(B, L, features)."""
        annotations = self.transform(features)
        image = self.image_map(annotations.mean(1))
        past = image.new_zeros(image.shape[0], len(self.layers), self.kernel - 1, image.shape[1])
        return {"grid": self.grid_map(annotations), "image": image, "past": past}

    def read(self, tokens: Tensor, state: State) -> Teacher:
        """All places at once; none of the padding, but in the attention, which costs little."""
        packing = Packing.of(tokens)
        places = packing.shape[1]
        captions = packing.index // places
        # Where the window of each word begins, with kernel − 1 zeros before every caption.
        begin = packing.index + captions * (self.kernel - 1)
        index = (begin[:, None] + torch.arange(self.kernel, device=tokens.device)).flatten()
        first = x = self._read(packing.pack(tokens), state["image"].index_select(0, captions))  # (N, H)
        looks = []
        for layer in self.layers:
            before = pad(packing.unpack(self.dropout(x)), (0, 0, self.kernel - 1, 0)).flatten(0, 1)
            windows = before.index_select(0, index).view(-1, self.kernel, x.shape[1])
            x, attention = layer(x, windows, first, state["grid"], packing)
            looks.append(attention)
        return Teacher(packing.unpack(self._tell(x)), torch.stack(looks).mean(0))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        first = x = self._read(tokens, state["image"])  # (B, H)
        past, looks = [], []
        for layer, before in zip(self.layers, state["past"].unbind(1), strict=True):
            window = torch.cat([before, self.dropout(x)[:, None]], dim=1)  # (B, kernel, H)
            past.append(window[:, 1:])
            x, attention = layer(x, window, first, state["grid"])
            looks.append(attention[:, 0])
        state = {**state, "past": torch.stack(past, dim=1)}
        return log_softmax(self._tell(x), dim=1), state, torch.stack(looks).mean(0)

    def _read(self, tokens: Tensor, image: Tensor) -> Tensor:
        words: Tensor = self.word_map(self.dropout(self.words(tokens)))
        return words + image

    def _tell(self, x: Tensor) -> Tensor:
        logits: Tensor = self.output(self.dropout(self.hidden(x)))
        return logits
