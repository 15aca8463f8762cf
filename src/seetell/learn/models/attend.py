"""The attention captioner of Xu et al.: for every word it attends to the grid, softly or at one location.

Section 3.1.2, with annotation vectors a_i, i = 1 … L:

    e_ti = w · tanh(P a_i + Q h_{t−1}),      α_t = softmax(e_t)
    ẑ_t = φ({a_i}, α_t)                                                              (1)
    i, f, o = σ(W E y_{t−1} + U h_{t−1} + Z ẑ_t + b),      c_t, h_t as in `lstm`
    c_0 = f_init,c(mean a_i),      h_0 = f_init,h(mean a_i)
    p(y_t) ∝ exp(L_o (E y_{t−1} + L_h h_t + L_z ẑ_t))                                (2)

*Soft* attention (4.2): φ = β_t Σ_i α_ti a_i (8), with the gate β_t = σ(f_β(h_{t−1})) of 4.2.1. The doubly stochastic
penalty (9) belongs to the loss.

*Hard* attention (4.1): φ = a_i at a location i sampled from α_t (3, 4). For half of the images of a batch the location
is replaced by its expectation, which is soft attention. The terms of the learning rule, log p(s̃_t) and H[s̃_t], are
returned for the loss. In evaluation mode it attends to the most probable location.

Departures: f_init,c and f_init,h have one hidden layer; the paper does not give their number. Options: annotation
vectors mapped once to fewer dimensions, which makes every step cheaper; E and L_o sharing their weights; and features
of the network's earlier stages (`grid+levels`), mapped to a vector that is added to every a_i, and so to every ẑ_t.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, one_hot

from seetell.learn.encoders.layouts import taken_apart
from seetell.learn.models.captioner import CaptionModel, State, TeacherForced
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.lstm import LSTM, Steps
from seetell.learn.models.packing import Packing
from seetell.learn.models.text import caption_words
from seetell.learn.recipes import RecipeError
from seetell.learn.recipes.model_settings import AttendSettings


def initial_state(features: int, units: int) -> nn.Sequential:
    """f_init: from the mean annotation vector to a state of the LSTM."""
    return nn.Sequential(nn.Linear(features, units), nn.Tanh(), nn.Linear(units, units), nn.Tanh())


class Attend(CaptionModel):
    """An LSTM that attends to the grid before every word.

    Args:
        settings: see `AttendSettings`.
        inputs: `features` is the width of one annotation vector.
    """

    constant = shared = frozenset({"annotations", "keys"})

    def __init__(self, settings: AttendSettings, inputs: ModelInputs) -> None:
        super().__init__()
        self.hard, self.expected = settings.attention == "hard", settings.expected
        self.transform = inputs.transform
        self.words = caption_words(settings, inputs)
        depth, width, units = settings.annotation_dimensions or inputs.features, self.words.dimensions, settings.units
        self.annotation_map: nn.Module = nn.Identity()
        if settings.annotation_dimensions:
            self.annotation_map = nn.Sequential(nn.Linear(inputs.features, depth), nn.ReLU())
        self.levels = inputs.levels
        self.levels_map: nn.Module | None = None
        if inputs.levels:
            self.levels_map = nn.Sequential(nn.Dropout(settings.levels_dropout), nn.Linear(inputs.levels, depth))
        self.key = nn.Linear(depth, settings.attention_dimensions)  # P
        self.query = nn.Linear(units, settings.attention_dimensions, bias=False)  # Q
        self.energy = nn.Linear(settings.attention_dimensions, 1, bias=False)  # w
        self.gate = nn.Linear(units, 1) if settings.gate else None  # f_β
        self.initial_h, self.initial_c = initial_state(depth, units), initial_state(depth, units)
        self.recurrent = LSTM(width, units)  # W, U, b
        self.context = nn.Linear(depth, 4 * units, bias=False)  # Z
        self.output_state = nn.Linear(units, width)  # L_h
        self.output_context = nn.Linear(depth, width, bias=False)  # L_z
        self.output = nn.Linear(width, inputs.words)  # L_o
        if settings.tied:
            self._tie()
        self.dropout, self.word_dropout = nn.Dropout(settings.dropout), nn.Dropout(settings.word_dropout)
        self.image_dropout = nn.Dropout(settings.image_dropout)

    def _tie(self) -> None:
        """Let E and L_o share their weights."""
        if self.words.mode == "frozen":
            raise RecipeError(
                "frozen word vectors cannot be tied to the output layer",
                where="[model] tied",
                remedy="Set freeze = false or tied = false",
            )
        self.output.weight = self.words.table.weight

    def start(self, features: Tensor) -> State:
        """Images (B, L, features); levels, if any, follow the L locations."""
        grid = self.transform(features)
        if self.levels_map is None:
            annotations = self.annotation_map(self.image_dropout(grid))  # (B, L, D)
        else:
            grid, row = taken_apart(grid, self.levels)
            annotations = self.annotation_map(self.image_dropout(grid)) + self.levels_map(row)[:, None]
        mean = annotations.mean(1)
        state = {
            "annotations": annotations,
            "keys": self.key(annotations),  # P a_i, once
            "h": self.initial_h(mean),
            "c": self.initial_c(mean),
        }
        return state if self.gate is None else {**state, "gate": mean.new_zeros(mean.shape[0], 1)}

    def read(self, tokens: Tensor, state: State) -> TeacherForced:
        """Only the recurrence runs step by step."""
        packing = Packing.of(tokens)
        h, c, annotations, keys = state["h"], state["c"], state["annotations"], state["keys"]
        read = self.word_dropout(self.words(packing.pack(tokens)))  # (N, m)
        steps = Steps(self.recurrent.input(read), torch.cat([self.recurrent.recurrent.weight, self.context.weight], 1))
        hs, contexts, attentions, looks, gates = [], [], [], [], []
        expected = self._use_expectation(h)
        soft = expected
        for mapped in packing.split(steps.mapped):
            if (rows := mapped.shape[0]) < h.shape[0]:
                h, c, annotations, keys = h[:rows], c[:rows], annotations[:rows], keys[:rows]
                soft = None if soft is None else soft[:rows]
            attention = self._attention(keys, h)
            look = self._look(attention, soft)
            beta = self._gate(h)
            context = self._context(look, annotations, beta)
            attentions.append(attention)
            looks.append(look)
            contexts.append(context)
            gates.append(beta)
            h, c = self.recurrent.cell(mapped + steps.product(torch.cat([h, context], dim=1)), c)
            hs.append(h)
        attention = packing.unpack(torch.cat(attentions))
        return TeacherForced(
            packing.unpack(self._output(read, torch.cat(hs), self.output_context(torch.cat(contexts)))),
            attention,
            None if self.gate is None else packing.unpack(torch.cat(gates)).squeeze(2),
            **(self._chances(attention, packing.unpack(torch.cat(looks)), expected) if self.hard else {}),
        )

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        return self.follow(tokens, self.look(state))

    def look(self, state: State, rows: Sequence[int] | None = None) -> State:
        h = state["h"]
        look = self._look(self._attention(state["keys"], h, rows), self._use_expectation(h))
        beta = self._gate(h)
        context = self._context(look, state["annotations"], beta, rows)
        return {
            **state,
            "gate": beta,
            "look": look,
            "gates": self.recurrent.recurrent(h) + self.context(context),
            "deep": self.output_context(context),
        }

    def follow(self, tokens: Tensor, looked: State) -> tuple[Tensor, State, Tensor | None]:
        read = self.word_dropout(self.words(tokens))
        h, c = self.recurrent.cell(self.recurrent.input(read) + looked["gates"], looked["c"])
        after = {"annotations": looked["annotations"], "keys": looked["keys"], "h": h, "c": c}
        if self.gate is not None:
            after["gate"] = looked["gate"]
        return log_softmax(self._output(read, h, looked["deep"]), dim=1), after, looked["look"]

    def _attention(self, keys: Tensor, h: Tensor, rows: Sequence[int] | None = None) -> Tensor:
        """α_t (B, L) from h_{t−1} and P a_i: (B, L, A) per row, or (P, L, A) per image with its `rows`."""
        queries = self.query(h)[:, None]
        if rows is None:
            energies: Tensor = self.energy((keys + queries).tanh_())  # in place: it is large
        else:  # one image at a time fits into the processor's cache
            by_image = zip(keys, queries.split_with_sizes(rows), strict=True)
            energies = torch.cat([self.energy((key + query).tanh_()) for key, query in by_image])
        return energies.squeeze(2).softmax(1)

    def _use_expectation(self, like: Tensor) -> Tensor | None:
        """(B, 1): which images of a training batch have their location replaced by its expectation."""
        if not (self.hard and self.training):
            return None
        return torch.rand(like.shape[0], 1, device=like.device) < self.expected

    def _look(self, attention: Tensor, soft: Tensor | None) -> Tensor:
        """The weights of the annotation vectors: α, or one-hot at one location."""
        if not self.hard:
            return attention
        if soft is None:
            return one_hot(attention.argmax(1), attention.shape[1]).to(attention.dtype)
        drawn = one_hot(torch.multinomial(attention.detach(), 1).squeeze(1), attention.shape[1])
        return torch.where(soft, attention, drawn.to(attention.dtype))

    def _gate(self, h: Tensor) -> Tensor:
        """β_t (B, 1); 1 without a gate."""
        return h.new_ones(h.shape[0], 1) if self.gate is None else self.gate(h).sigmoid()

    def _context(self, look: Tensor, annotations: Tensor, beta: Tensor, rows: Sequence[int] | None = None) -> Tensor:
        """ẑ_t (B, D) from the a_i per row, or per image."""
        if rows is None:
            return beta * (look[:, None] @ annotations).squeeze(1)
        by_image = zip(look.split_with_sizes(rows), annotations, strict=True)
        return beta * torch.cat([weights @ locations for weights, locations in by_image])

    def _output(self, read: Tensor, h: Tensor, seen: Tensor) -> Tensor:
        """The deep output layer (2), for one step or all steps, given L_z ẑ."""
        deep = read + self.output_state(self.dropout(h)) + seen
        logits: Tensor = self.output(self.dropout(deep))
        return logits

    @staticmethod
    def _chances(attention: Tensor, looks: Tensor, soft: Tensor | None) -> dict[str, Tensor]:
        """log p(s̃_t) and H[s̃_t], each (B, T)."""
        logs = attention.clamp_min(torch.finfo(attention.dtype).tiny).log()
        location = (logs * looks.detach()).sum(2)
        terms = {"log_location": location, "entropy": -(attention * logs).sum(2)}
        if soft is None:
            return terms
        # With the expectation nothing is sampled, and Σ α ∂ log α = 0.
        return {**terms, "log_location": location.masked_fill(soft, 0.0), "expected": soft.squeeze(1)}
