"""The merge captioner of Vaishali, section V: the image meets the words after the LSTM, never in it.

    v = ReLU(W_v dropout(x))                 the image's vector, 256
    h_t = LSTM(dropout(E w_1 … E w_t))       the partial caption, 256
    p(w_{t+1}) = softmax(W_o ReLU(W_d (v + h_t)))

With 1,848 words, 50-dimensional word vectors and an image vector of 2,048 it has the 1,472,040 parameters of the
paper's layer table.

Departures: the paper trains on a table with one row for each partial caption (Tables 2.1–2.4). An LSTM that has read
a caption has read all its warm_starts, so all rows of a caption are computed in one pass, with the same loss and the
same gradients; only dropout is drawn once a caption instead of once a row. Padding is never read. The paper does not
say what follows its dense layers (here ReLU) nor its share of dropout (here a half).
"""

from torch import Tensor, nn
from torch.nn.functional import log_softmax

from seetell.learn.models.captioner import CaptionModel, State, Teacher
from seetell.learn.models.lstm import LSTM
from seetell.learn.models.packing import Packing
from seetell.learn.models.text import WordVectors


class Merge(CaptionModel):
    """Args:
    features: width of the image's vector.
    words: size of the vocabulary.
    transform: what is done to raw features first; fitted on the training split.
    units: width of both sides, and of the layer over their sum.
    word_dimensions: of a learned word vector; given ones have their own.
    vectors: pre-trained word vectors, if any.
    freeze: leave given word vectors as they are, as the paper does.
    """

    constant = frozenset({"image"})

    def __init__(
        self,
        features: int,
        words: int,
        transform: nn.Module,
        units: int = 256,
        word_dimensions: int = 50,
        dropout: float = 0.5,
        vectors: Tensor | None = None,
        freeze: bool = True,
    ) -> None:
        super().__init__()
        self.transform = transform
        self.words = WordVectors(words, word_dimensions, vectors, mode="frozen" if freeze else "tuned")
        self.image = nn.Linear(features, units)
        self.recurrent = LSTM(self.words.dimensions, units)
        self.dense = nn.Linear(units, units)
        self.output = nn.Linear(units, words)
        self.image_dropout, self.word_dropout = nn.Dropout(dropout), nn.Dropout(dropout)

    def start(self, features: Tensor) -> State:
        """(B, features)."""
        image = self.image(self.image_dropout(self.transform(features))).relu()  # (B, units)
        nothing = image.new_zeros(image.shape[0], self.recurrent.units)
        return {"image": image, "h": nothing, "c": nothing}

    def read(self, tokens: Tensor, state: State) -> Teacher:
        packing = Packing.of(tokens)
        read = self.word_dropout(self.words(packing.pack(tokens)))
        h = self.recurrent(read, state["h"], state["c"], packing)  # (N, units)
        image = state["image"].index_select(0, packing.index // tokens.shape[1])
        return Teacher(packing.unpack(self._merge(image, h)))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        mapped = self.recurrent.input(self.word_dropout(self.words(tokens)))
        h, c = self.recurrent.step(mapped, state["h"], state["c"])
        return log_softmax(self._merge(state["image"], h), dim=1), {**state, "h": h, "c": c}, None

    def _merge(self, image: Tensor, h: Tensor) -> Tensor:
        logits: Tensor = self.output(self.dense(image + h).relu())
        return logits
