"""The label-sequence models of Ren: an LSTM generates an image's labels one after another.

*Image-label joint embedding* (3.1) adds the image at every label, after the LSTM:

    x_t = tanh(h_t W_h + I W_I)              (1)
    s_t = x_t E^T                            (2)        p = softmax(s_t), E being the label embeddings

*CNN as initialisation* (3.2) starts the LSTM with the image, in one of three ways: as its hidden state, as hidden and
cell state, or as the input of one step before the first. *CNN sequence to sequence* (3.3) starts it with the state of
another LSTM, or of the same, that has read the levels of the network's features, each mapped to the width of a label
embedding. Both end in an output layer, p = softmax(W_o d_t).

With *attention* (3.4), equations 3 to 5 (`levels.py`) attend to all levels, or to the encoder's outputs, for every
label. In the joint embedding the context c_t replaces I. In the others it changes the output and, by input
feeding, the next input:

    d̃_t = tanh([c_t; d_t] W_c + b_c)                     (6)      p = softmax(W_o d̃_t)
    x̃_t = tanh([d̃_{t−1}; x_t] W_x + b_x)                 (7)      d̃_0 = 0

Weights are initialised by Xavier's rule and biases with zeros, those of the forget gate included; so are label
embeddings without pre-trained values. Dropout on the LSTM is on its inputs and outputs, never from step to step
(Zaremba et al.); dropout on the image is on the features that its projections read.

Departures: (7) is printed with d_{t−1}, but called the previous *attentional* output in the text, which is what is
fed here. The joint embedding computes no attentional output, and so feeds none. Levels have different widths, and the
paper does not specify how they become outputs h_i of one width: here by a linear map to the LSTM's width. It feeds
five pooling layers and the final one, yet mentions five steps; here there are as many as the layout `levels` has
sections. The width of the attention's hidden layer is not given (here 512).
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from seetell.learn.models.captioner import CaptionModel, State, TeacherForced, select
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.levels import AdditiveAttention, Levels
from seetell.learn.models.lstm import LSTM
from seetell.learn.recipes.model_settings import LabelSequenceSettings


def label_vectors(words: int, dimensions: int, given: Tensor | None) -> nn.Embedding:
    """Label embeddings; rows of `given` that are NaN (special symbols, unknown words) are initialised randomly."""
    table = nn.Embedding(words, dimensions if given is None else given.shape[1])
    nn.init.xavier_uniform_(table.weight)
    if given is not None:
        with torch.no_grad():
            table.weight.copy_(torch.where(given.isnan(), table.weight, given))
    return table


def initialise(module: nn.Module) -> None:
    """Xavier weights, zero biases."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


class LabelSequence(CaptionModel):
    """All variants; the image is the last of the feature row's sections, its levels are all of them.

    Args:
        settings: see `LabelSequenceSettings`.
        inputs: `words` counts labels and special symbols, `vectors` are pre-trained label embeddings, and `sections`
            divides a row of features.
    """

    constant = frozenset({"image", "outputs", "keys"})

    def __init__(self, settings: LabelSequenceSettings, inputs: ModelInputs) -> None:
        super().__init__()
        part, attention, units, sections = settings.part, settings.attention, settings.units, inputs.sections
        self.part, self.image_width = part, sections[-1]
        self.labels = label_vectors(inputs.words, settings.label_dimensions, inputs.vectors)  # E
        dimensions = self.labels.embedding_dim
        self.recurrent = LSTM(dimensions, units)
        self.reader = LSTM(dimensions, units) if part == "seq2seq-separate" else None
        reads = part.startswith("seq2seq")
        width = dimensions if reads else units
        self.levels = Levels(sections, width, settings.image_dropout) if reads or attention else None
        self.attention = AdditiveAttention(units, units, settings.attention_dimensions) if attention else None
        if part == "joint":
            self.state_map = nn.Linear(units, dimensions, bias=False)  # W_h
            self.image_map = nn.Linear(units if attention else sections[-1], dimensions, bias=False)  # W_I
        else:
            self.output = nn.Linear(units, inputs.words)  # W_o
            if attention:
                self.join = nn.Linear(2 * units, units)  # W_c, b_c
                self.feed = nn.Linear(units + dimensions, dimensions)  # W_x, b_x
        if part.startswith("init"):
            widths = {"init-hidden": units, "init-both": 2 * units, "init-input": dimensions}
            self.image_map = nn.Linear(sections[-1], widths[part])
        self.dropout, self.image_dropout = nn.Dropout(settings.dropout), nn.Dropout(settings.image_dropout)
        self.apply(initialise)
        self.transform = inputs.transform  # last, so that what was fitted or trained before is not initialised again

    def start(self, features: Tensor) -> State:
        """Images (B, Σ sections)."""
        features = self.transform(features)
        image = self.image_dropout(features[:, -self.image_width :])  # I
        levels = None if self.levels is None else self.levels(features)
        h = c = features.new_zeros(features.shape[0], self.recurrent.units)
        match self.part:
            case "init-hidden":
                h = self.image_map(image)
            case "init-both":
                h, c = self.image_map(image).chunk(2, dim=1)
            case "init-input":  # one extra step
                h, c = self._step(self.recurrent, self.image_map(image), h, c)
            case "seq2seq-shared" | "seq2seq-separate":
                assert levels is not None
                reader, read = self.reader or self.recurrent, []
                for level in levels.unbind(1):
                    h, c = self._step(reader, level, h, c)
                    read.append(h)
                levels = self.dropout(torch.stack(read, dim=1))
        state = {"h": h, "c": c}
        if self.attention is not None:
            assert levels is not None
            state |= {"outputs": levels, "keys": self.attention.keys(levels)}
            return state if self.part == "joint" else {**state, "fed": torch.zeros_like(h)}
        return {**state, "image": self.image_map(image)} if self.part == "joint" else state

    def read(self, tokens: Tensor, state: State) -> TeacherForced:
        """Rows are sorted by length, longest first, so that padding (0) is never computed."""
        lengths = (tokens != 0).sum(1)
        order = lengths.argsort(descending=True, stable=True)
        rows = (lengths[:, None] > torch.arange(tokens.shape[1], device=tokens.device)).sum(0).cpu()
        labels, state = self.labels(tokens[order]), select(state, order)
        outputs, looks = [], []
        for position, count in enumerate(rows.tolist()):
            state = {name: value[:count] for name, value in state.items()}
            output, state, attention = self._advance(labels[:count, position], state)
            outputs.append(output)
            if attention is not None:
                looks.append(attention)

        def padded(steps: Tensor) -> Tensor:
            packed = PackedSequence(steps, rows, order, order.argsort())
            return pad_packed_sequence(packed, batch_first=True)[0]

        return TeacherForced(padded(self._scores(torch.cat(outputs))), padded(torch.cat(looks)) if looks else None)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        output, state, attention = self._advance(self.labels(tokens), state)
        return log_softmax(self._scores(output), dim=1), state, attention

    def _advance(self, read: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        """One step from a label's embedding: the input of the output layer, the new state, the attention."""
        if "fed" in state:
            read = torch.tanh(self.feed(torch.cat([state["fed"], read], dim=1)))  # x̃_t
        h, c = self._step(self.recurrent, read, state["h"], state["c"])
        d, state = self.dropout(h), {**state, "h": h, "c": c}
        context = attention = None
        if self.attention is not None:
            context, attention = self.attention(state["keys"], state["outputs"], d)
        if self.part == "joint":
            image = state["image"] if context is None else self.image_map(context)
            return torch.tanh(self.state_map(d) + image), state, attention  # x_t
        if context is None:
            return d, state, None
        attentional = torch.tanh(self.join(torch.cat([context, d], dim=1)))  # d̃_t
        return attentional, {**state, "fed": attentional}, attention

    def _step(self, recurrent: LSTM, read: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        return recurrent.step(recurrent.input(self.dropout(read)), h, c)

    def _scores(self, outputs: Tensor) -> Tensor:
        """Scores of labels and special symbols."""
        scores: Tensor = outputs @ self.labels.weight.T if self.part == "joint" else self.output(outputs)
        return scores
