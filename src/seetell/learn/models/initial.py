"""The CNN-LSTM captioner (Vaishali's third category; Vinyals et al. in Xu's Table 1): the image is seen once.

    c_0 = W_v dropout(x) + b,      h_0 = tanh(c_0),      h_t = LSTM(E w_1 … E w_t),      p(w_{t+1}) = softmax(W_o h_t)

The image is the LSTM's first memory; from then on it sees words only, and what it knows of the image is what its
state remembers.

Departures: neither paper gives this baseline's settings. Vinyals et al., whose widths these are, let the LSTM read
the image as if it were the first word; its gates then let through little of it, and such a model learns far more
slowly (docs/results/captions.md).
"""

from torch import Tensor, nn
from torch.nn.functional import log_softmax

from seetell.learn.models.captioner import CaptionModel, State, Teacher
from seetell.learn.models.lstm import LSTM
from seetell.learn.models.packing import Packing
from seetell.learn.models.text import WordVectors


class Initial(CaptionModel):
    """Args:
    features: width of the image's vector.
    words: size of the vocabulary.
    transform: what is done to raw features first; fitted on the training split.
    units: of the LSTM.
    word_dimensions: of a learned word vector; given ones have their own.
    dropout: on the image, on words, and on what comes out of the LSTM.
    vectors: pre-trained word vectors, if any.
    freeze: leave given word vectors as they are.
    """

    def __init__(
        self,
        features: int,
        words: int,
        transform: nn.Module,
        units: int = 512,
        word_dimensions: int = 512,
        dropout: float = 0.3,
        vectors: Tensor | None = None,
        freeze: bool = False,
    ) -> None:
        super().__init__()
        self.transform = transform
        self.words = WordVectors(words, word_dimensions, vectors, mode="frozen" if freeze else "tuned")
        self.image = nn.Linear(features, units)
        self.recurrent = LSTM(self.words.dimensions, units)
        self.output = nn.Linear(units, words)
        self.dropout = nn.Dropout(dropout)

    def start(self, features: Tensor) -> State:
        """(B, features)."""
        c = self.image(self.dropout(self.transform(features)))
        return {"h": c.tanh(), "c": c}

    def read(self, tokens: Tensor, state: State) -> Teacher:
        packing = Packing.of(tokens)
        read = self.dropout(self.words(packing.pack(tokens)))
        h = self.recurrent(read, state["h"], state["c"], packing)  # (N, units)
        return Teacher(packing.unpack(self.output(self.dropout(h))))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        mapped = self.recurrent.input(self.dropout(self.words(tokens)))
        h, c = self.recurrent.step(mapped, state["h"], state["c"])
        return log_softmax(self.output(self.dropout(h)), dim=1), {"h": h, "c": c}, None
