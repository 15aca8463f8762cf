"""The CNN-LSTM captioner (Vaishali's third category; Vinyals et al. in Xu's Table 1): the image initialises the LSTM.

    c_0 = W_v dropout(x) + b,      h_0 = tanh(c_0),      h_t = LSTM(E w_1 … E w_t),      p(w_{t+1}) = softmax(W_o h_t)

The image is the LSTM's initial memory; from then on it reads words only, and what it knows of the image is in its
state.

Departures: neither paper gives this baseline's settings. Vinyals et al., whose widths these are, let the LSTM read
the image as if it were the first word; its gates then pass little of it on, and such a model learns far more slowly
(docs/results/captions.md).
"""

from torch import Tensor, nn
from torch.nn.functional import log_softmax

from seetell.learn.models.captioner import CaptionModel, State, TeacherForced
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.lstm import LSTM
from seetell.learn.models.packing import Packing
from seetell.learn.models.text import caption_words
from seetell.learn.recipes.model_settings import InitialSettings


class Initial(CaptionModel):
    """An LSTM whose initial state is the image.

    Args:
        settings: see `InitialSettings`.
        inputs: `features` is the width of the image's vector.
    """

    def __init__(self, settings: InitialSettings, inputs: ModelInputs) -> None:
        super().__init__()
        self.transform = inputs.transform
        self.words = caption_words(settings, inputs)
        self.image = nn.Linear(inputs.features, settings.units)
        self.recurrent = LSTM(self.words.dimensions, settings.units)
        self.output = nn.Linear(settings.units, inputs.words)
        self.dropout = nn.Dropout(settings.dropout)

    def start(self, features: Tensor) -> State:
        """Images (B, features)."""
        c = self.image(self.dropout(self.transform(features)))
        return {"h": c.tanh(), "c": c}

    def read(self, tokens: Tensor, state: State) -> TeacherForced:
        packing = Packing.of(tokens)
        read = self.dropout(self.words(packing.pack(tokens)))
        h = self.recurrent(read, state["h"], state["c"], packing)  # (N, units)
        return TeacherForced(packing.unpack(self.output(self.dropout(h))))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        mapped = self.recurrent.input(self.dropout(self.words(tokens)))
        h, c = self.recurrent.step(mapped, state["h"], state["c"])
        return log_softmax(self.output(self.dropout(h)), dim=1), {"h": h, "c": c}, None
