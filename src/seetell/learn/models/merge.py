"""The merge captioner of Vaishali, section V: image and words meet after the LSTM, never in it.

    v = ReLU(W_v dropout(x))                 the image's vector, 256
    h_t = LSTM(dropout(E w_1 … E w_t))       the partial caption, 256
    p(w_{t+1}) = softmax(W_o ReLU(W_d (v + h_t)))

With 1,848 words, 50-dimensional word vectors and an image vector of 2,048 it has the 1,472,040 parameters of the
paper's layer table.

Departures: the paper trains on a table with one row for each partial caption (Tables 2.1–2.4). An LSTM that has read
a caption has read all its prefixes, so all rows of a caption are computed in one pass, with the same loss and the
same gradients; only dropout is sampled once per caption instead of once per row. Padding is never read. The paper
specifies neither the activation of its dense layers (here ReLU) nor the dropout rate (here 0.5).
"""

from torch import Tensor, nn
from torch.nn.functional import log_softmax

from seetell.learn.models.captioner import CaptionModel, State, TeacherForced
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.lstm import LSTM
from seetell.learn.models.packing import Packing
from seetell.learn.models.text import caption_words
from seetell.learn.recipes.model_settings import MergeSettings


class Merge(CaptionModel):
    """An LSTM over the words, whose states are added to the image's vector.

    Args:
        settings: see `MergeSettings`.
        inputs: `features` is the width of the image's vector.
    """

    constant = frozenset({"image"})

    def __init__(self, settings: MergeSettings, inputs: ModelInputs) -> None:
        super().__init__()
        self.transform = inputs.transform
        self.words = caption_words(settings, inputs)
        self.image = nn.Linear(inputs.features, settings.units)
        self.recurrent = LSTM(self.words.dimensions, settings.units)
        self.dense = nn.Linear(settings.units, settings.units)
        self.output = nn.Linear(settings.units, inputs.words)
        self.image_dropout, self.word_dropout = nn.Dropout(settings.dropout), nn.Dropout(settings.dropout)

    def start(self, features: Tensor) -> State:
        """Images (B, features)."""
        image = self.image(self.image_dropout(self.transform(features))).relu()  # (B, units)
        zeros = image.new_zeros(image.shape[0], self.recurrent.units)
        return {"image": image, "h": zeros, "c": zeros}

    def read(self, tokens: Tensor, state: State) -> TeacherForced:
        packing = Packing.of(tokens)
        read = self.word_dropout(self.words(packing.pack(tokens)))
        h = self.recurrent(read, state["h"], state["c"], packing)  # (N, units)
        image = state["image"].index_select(0, packing.index // tokens.shape[1])
        return TeacherForced(packing.unpack(self._merge(image, h)))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        mapped = self.recurrent.input(self.word_dropout(self.words(tokens)))
        h, c = self.recurrent.step(mapped, state["h"], state["c"])
        return log_softmax(self._merge(state["image"], h), dim=1), {**state, "h": h, "c": c}, None

    def _merge(self, image: Tensor, h: Tensor) -> Tensor:
        logits: Tensor = self.output(self.dense(image + h).relu())
        return logits
