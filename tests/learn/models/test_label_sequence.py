"""The label-sequence models against the paper's equations, written out in NumPy."""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax

from seetell.decoding import Rules, beam_search, greedy
from seetell.learn.models import ModelInputs, build
from seetell.learn.models.captioner import select
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.models.label_sequence import LabelSequence
from seetell.learn.recipes import RecipeError, read_model_settings
from seetell.learn.recipes.model_settings import LabelPart

SECTIONS, WORDS = (3, 4, 6), 11
PAD, START, END = 0, 1, 2
SMALL = {"units": 8, "label_dimensions": 5, "attention_dimensions": 7}
VARIANTS = [(part, attention) for part in get_args(LabelPart) for attention in (False, True)]
every_variant = pytest.mark.parametrize(("part", "attention"), VARIANTS)
Vector = NDArray[np.float64]


def given(**more: Any) -> ModelInputs:
    return ModelInputs(**{"words": WORDS, "sections": SECTIONS, **more})


def make(part: str, attention: bool, seed: int = 0, sections: tuple[int, ...] = SECTIONS, **more: Any) -> LabelSequence:
    torch.manual_seed(seed)
    settings = {"kind": "label_sequence", "part": part, "attention": attention, **SMALL, **more}
    model = build(read_model_settings(settings), given(sections=sections))
    assert isinstance(model, LabelSequence)
    return model.eval()


def disturbed(model: LabelSequence) -> LabelSequence:
    """With biases that are not zero, so that a forgotten one shows."""
    torch.manual_seed(8)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def images(count: int = 4) -> Tensor:
    return torch.randn(count, sum(SECTIONS), generator=torch.Generator().manual_seed(5))


def sequences(count: int = 4, length: int = 5) -> Tensor:
    """Different labels after the start."""
    random = np.random.default_rng(3)
    rows = [[START, *random.permutation(np.arange(3, WORDS))[: length - 1]] for _ in range(count)]
    return torch.tensor(np.array(rows))


class WrittenOut:
    """Sections 3.1 to 3.4 for one image, one label at a time, with row vectors as in the paper."""

    def __init__(self, model: LabelSequence, features: Vector) -> None:
        self.p = {name: value.double().numpy() for name, value in model.state_dict().items()}
        self.part = model.part
        self.sections = np.split(features, np.cumsum(SECTIONS)[:-1])
        self.units = model.recurrent.units

    def linear(self, name: str, x: Vector) -> Vector:
        return x @ self.p[f"{name}.weight"].T + self.p.get(f"{name}.bias", 0.0)

    def lstm(self, name: str, x: Vector, h: Vector, c: Vector) -> tuple[Vector, Vector]:
        gates = self.linear(f"{name}.input", x) + self.linear(f"{name}.recurrent", h)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in np.split(gates, 4)[:3])
        c = f * c + i * np.tanh(np.split(gates, 4)[3])
        return o * np.tanh(c), c

    def begin(self) -> tuple[Vector, Vector, list[Vector]]:
        """The first states, and what attention looks at."""
        h = c = np.zeros(self.units)
        image = self.sections[-1]
        levels = [
            self.linear(f"levels.maps.{i}", s) for i, s in enumerate(self.sections) if "levels.maps.0.bias" in self.p
        ]
        if self.part == "init-hidden":
            h = self.linear("image_map", image)
        elif self.part == "init-both":
            both = self.linear("image_map", image)
            h, c = both[: self.units], both[self.units :]
        elif self.part == "init-input":
            h, c = self.lstm("recurrent", self.linear("image_map", image), h, c)
        elif self.part.startswith("seq2seq"):
            read = []
            for level in levels:
                h, c = self.lstm("reader" if self.part == "seq2seq-separate" else "recurrent", level, h, c)
                read.append(h)
            levels = read
        return h, c, levels

    def run(self, labels: list[int]) -> tuple[Vector, Vector]:
        """The scores and the attention of every step."""
        h, c, outputs = self.begin()
        attends, fed = "attention.keys.weight" in self.p, np.zeros(self.units)
        scores, looks = [], []
        for label in labels:
            x = self.p["labels.weight"][label]
            if attends and self.part != "joint":
                x = np.tanh(self.linear("feed", np.concatenate([fed, x])))  # (7)
            h, c = self.lstm("recurrent", x, h, c)
            if attends:
                s = np.array(
                    [
                        np.tanh(
                            out @ self.p["attention.keys.weight"].T
                            + h @ self.p["attention.query.weight"].T
                            + self.p["attention.keys.bias"]
                        )
                        @ self.p["attention.energy.weight"][0]
                        for out in outputs
                    ]
                )  # (3)
                a = np.exp(s) / np.exp(s).sum()  # (4)
                context = sum(weight * out for weight, out in zip(a, outputs, strict=True))  # (5)
                looks.append(a)
            if self.part == "joint":
                image = context if attends else self.sections[-1]
                joint = np.tanh(h @ self.p["state_map.weight"].T + image @ self.p["image_map.weight"].T)  # (1)
                scores.append(joint @ self.p["labels.weight"].T)  # (2)
            else:
                d = h
                if attends:
                    d = fed = np.tanh(self.linear("join", np.concatenate([context, h])))  # (6)
                scores.append(self.linear("output", d))
        return np.array(scores), np.array(looks)


@every_variant
def test_equations(part: str, attention: bool) -> None:
    model, features, tokens = disturbed(make(part, attention)), images(), sequences()
    taught = model(features, tokens)
    assert taught.logits.shape == (4, 5, WORDS)
    for row in range(4):
        scores, looks = WrittenOut(model, features[row].double().numpy()).run(tokens[row].tolist())
        np.testing.assert_allclose(taught.logits[row].detach(), scores, atol=1e-5)
        if attention:
            np.testing.assert_allclose(taught.attention[row].detach(), looks, atol=1e-6)
    assert (taught.attention is not None) == attention


@every_variant
def test_telling_label_by_label_equals_reading_the_whole_sequence(part: str, attention: bool) -> None:
    model, features, tokens = disturbed(make(part, attention)), images(), sequences()
    taught = model(features, tokens)
    state = model.start(features)
    for place in range(tokens.shape[1]):
        log_probs, after, look = model.step(tokens[:, place], state)
        torch.testing.assert_close(log_probs, log_softmax(taught.logits[:, place], dim=1))
        torch.testing.assert_close(look, None if taught.attention is None else taught.attention[:, place])
        assert {key: value.shape for key, value in after.items()} == {key: value.shape for key, value in state.items()}
        assert {key for key in state if torch.equal(state[key], after[key])} == model.constant & state.keys()
        state = after
    if attention:
        torch.testing.assert_close(taught.attention.sum(2), torch.ones(4, 5))
        assert taught.attention.shape == (4, 5, len(SECTIONS))


@every_variant
def test_padding_and_neighbours_change_nothing(part: str, attention: bool) -> None:
    model, features, tokens = disturbed(make(part, attention)), images(), sequences()
    whole = model(features, tokens)
    tokens[0, 2:] = tokens[2, 4:] = PAD
    taught = model(features, tokens)
    for row, length in enumerate((2, 5, 4, 5)):
        torch.testing.assert_close(taught.logits[row, :length], whole.logits[row, :length])
        if attention:
            torch.testing.assert_close(taught.attention[row, :length], whole.attention[row, :length])


@every_variant
def test_chosen_rows_go_on_as_they_would_have(part: str, attention: bool) -> None:
    model, features, tokens = make(part, attention), images(), sequences()
    _, state, _ = model.step(tokens[:, 0], model.start(features))
    whole, _, _ = model.step(tokens[:, 1], state)
    rows = torch.tensor([2, 0, 2])
    chosen, _, _ = model.step(tokens[rows, 1], select(state, rows))
    torch.testing.assert_close(chosen, whole[rows])


@every_variant
def test_the_image_matters_at_every_step(part: str, attention: bool) -> None:
    model, tokens = make(part, attention), sequences()
    difference = (model(images(), tokens).logits - model(images().flip(0), tokens).logits).abs()
    assert difference.amax(2).min() > 1e-5


@every_variant
def test_a_handful_is_learned_by_heart_and_told_without_repeating(part: str, attention: bool) -> None:
    model, features = make(part, attention, image_dropout=0.0, units=24).train(), images()
    tokens = torch.cat([sequences(), torch.full((4, 1), END)], dim=1)
    tokens[1, 3:] = torch.tensor([END, PAD, PAD])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(120):
        logits = model(features, tokens[:, :-1]).logits
        loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=PAD)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    rules = Rules(START, END, max_length=8, forbidden=(PAD,), block_ngrams=1)
    decoder = TorchDecoder(model.eval())
    wanted = [[label for label in row if label > END] for row in tokens.tolist()]
    told = greedy(decoder, features.numpy(), rules)
    assert [one.tokens.tolist() for one in told] == wanted
    beams = beam_search(decoder, features.numpy(), rules, beam=3)
    assert all(best[0].log_probability >= one.log_probability - 1e-5 for best, one in zip(beams, told, strict=True))


@every_variant
def test_weights_written_and_read_again_tell_the_same(part: str, attention: bool, tmp_path: Path) -> None:
    model, other = make(part, attention), make(part, attention, seed=9)
    save_file(dict(model.state_dict()), tmp_path / "model.safetensors")
    assert not torch.equal(other(images(), sequences()).logits, model(images(), sequences()).logits)
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(other(images(), sequences()).logits, model(images(), sequences()).logits)


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_sizes() -> None:
    """By hand, from the equations: widths u, e, a; sections 3, 4, 6; a vocabulary of 11."""
    u, e, a, v = 8, 5, 7, WORDS
    table, lstm, output = v * e, 4 * u * (e + u + 1), (u + 1) * v
    looks = a * (u + u + 1 + 1)
    feeding = u * (2 * u + 1) + e * (u + e + 1)
    to_units, to_labels = (13 + 3) * u, (13 + 3) * e
    assert parameters(make("joint", False)) == table + lstm + e * (u + 6)
    assert parameters(make("joint", True)) == table + lstm + e * (u + u) + looks + to_units
    for part, width in (("init-hidden", u), ("init-both", 2 * u), ("init-input", e)):
        plain = table + lstm + output + 7 * width
        assert parameters(make(part, False)) == plain
        assert parameters(make(part, True)) == plain + looks + feeding + to_units
    shared = table + lstm + output + to_labels
    assert parameters(make("seq2seq-shared", False)) == shared
    assert parameters(make("seq2seq-separate", False)) == shared + lstm
    assert parameters(make("seq2seq-separate", True)) == shared + lstm + looks + feeding


@every_variant
def test_weights_start_by_xaviers_rule_and_biases_at_zero(part: str, attention: bool) -> None:
    for name, parameter in make(part, attention, units=64, label_dimensions=40).named_parameters():
        if parameter.ndim == 1:
            assert not parameter.any(), name
        else:
            bound = (6 / sum(parameter.shape)) ** 0.5
            assert parameter.abs().max() <= bound, name
            if parameter.numel() > 100:
                assert parameter.abs().max() > 0.9 * bound, name


def test_given_vectors_are_where_embeddings_start_and_the_others_are_drawn() -> None:
    vectors = torch.randn(WORDS, 6)
    vectors[[PAD, START, END, 7]] = torch.nan
    model = make("joint", False)
    settings = read_model_settings({"kind": "label_sequence", "part": "joint", **SMALL})
    started = build(settings, given(vectors=vectors))
    table = started.labels.weight
    assert table.shape == (WORDS, 6)
    known = ~vectors[:, 0].isnan()
    assert torch.equal(table[known], vectors[known])
    assert table.isfinite().all()
    assert (table[~known].abs().amax(1) > 0).all()
    assert model.labels.weight.shape == (WORDS, SMALL["label_dimensions"])
    started(images(), sequences()).logits.square().sum().backward()
    assert table.grad.abs().sum() > 0


def test_pooled_features_are_one_level() -> None:
    model = make("init-both", False, sections=(6,))
    levels = make("init-both", False)
    levels.load_state_dict(model.state_dict())
    features = images()
    torch.testing.assert_close(model(features[:, -6:], sequences()).logits, levels(features, sequences()).logits)
    for part, attention in (("joint", True), ("init-both", True), ("seq2seq-shared", False)):
        with pytest.raises(RecipeError, match="levels"):
            make(part, attention, sections=(6,))


def test_dropout_is_on_inputs_and_outputs_of_the_lstm_only_in_training() -> None:
    model = make("seq2seq-shared", True, dropout=0.5, image_dropout=0.0)
    features, tokens = images(), sequences()
    assert torch.equal(model(features, tokens).logits, model(features, tokens).logits)
    model.train()
    assert not torch.equal(model(features, tokens).logits, model(features, tokens).logits)
    state = model.start(features)
    shares = []
    for _ in range(50):
        _, after, _ = model.step(tokens[:, 0], state)
        shares.append((after["h"] == 0).float().mean())
    assert max(shares) == 0  # the state itself is never cut


def test_a_transform_keeps_what_it_has_learned() -> None:
    fitted = nn.Linear(13, 13)
    before = fitted.weight.clone()
    build(read_model_settings({"kind": "label_sequence", **SMALL}), given(transform=fitted))
    assert torch.equal(fitted.weight, before)


def test_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"part is 'init-bot'; expected one of: .* Did you mean 'init-both'"):
        make("init-bot", False)
