"""What holds for every captioner."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy, log_softmax

from helpers.captioners import (
    ATTENDING,
    FEATURES,
    LEVELS,
    PLACES,
    SETTINGS,
    START,
    WORDS,
    captions,
    given,
    images,
    make,
)
from seetell.learn.models import build
from seetell.learn.models.captioner import select
from seetell.learn.recipes import RecipeError, read_model_settings


@pytest.mark.parametrize("name", SETTINGS)
def test_telling_word_by_word_equals_reading_the_whole_caption(name: str) -> None:
    model, features, tokens = make(name), images(name), captions()
    taught = model(features, tokens)
    assert taught.logits.shape == (4, 7, WORDS)
    state = model.start(features)
    for place in range(tokens.shape[1]):
        log_probs, state, attention = model.step(tokens[:, place], state)
        torch.testing.assert_close(log_probs, log_softmax(taught.logits[:, place], dim=1))
        assert (attention is not None) == (name in ATTENDING)
        if attention is not None and name != "attend-hard":
            torch.testing.assert_close(attention, taught.attention[:, place])
        if taught.gate is not None:
            torch.testing.assert_close(state["gate"][:, 0], taught.gate[:, place])


@pytest.mark.parametrize("name", SETTINGS)
def test_the_state_keeps_its_shape_and_what_is_called_constant(name: str) -> None:
    model, features = make(name), images(name)
    first = model.start(features)
    _, second, _ = model.step(torch.full((4,), START), first)
    assert {key: value.shape for key, value in first.items()} == {key: value.shape for key, value in second.items()}
    assert all(len(value) == 4 for value in first.values())
    unchanged = {key for key in first if torch.equal(first[key], second[key])}
    assert unchanged == model.constant


@pytest.mark.parametrize("name", SETTINGS)
def test_chosen_rows_go_on_as_they_would_have(name: str) -> None:
    model, features, tokens = make(name), images(name), captions()
    _, state, _ = model.step(tokens[:, 0], model.start(features))
    whole, _, _ = model.step(tokens[:, 1], state)
    rows = torch.tensor([2, 0, 2])
    chosen, _, _ = model.step(tokens[rows, 1], select(state, rows))
    torch.testing.assert_close(chosen, whole[rows])


@pytest.mark.parametrize("name", SETTINGS)
def test_a_later_word_changes_nothing_earlier(name: str) -> None:
    model, features, tokens = make(name), images(name), captions()
    changed = tokens.clone()
    changed[:, 4] = (tokens[:, 4] - 1) % (WORDS - 2) + 2
    before, after = model(features, tokens).logits, model(features, changed).logits
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert (before[:, 4] - after[:, 4]).abs().amax(1).min() > 1e-4


@pytest.mark.parametrize("name", SETTINGS)
def test_padding_and_neighbours_change_nothing(name: str) -> None:
    model, features, tokens = make(name), images(name), captions()
    tokens[1, 5:] = 0
    together = model(features, tokens).logits[1, :5]
    alone = model(features[1:2], tokens[1:2, :5]).logits[0]
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("name", SETTINGS)
def test_leaving_padding_out_changes_neither_words_nor_gradients(name: str) -> None:
    model, features, tokens = make(name), images(name), captions()
    for row, length in enumerate((7, 6, 6, 3)):
        tokens[row, length:] = 0
    mask, weights = tokens != 0, torch.randn(4, 7, WORDS)
    found = []
    for order in (torch.arange(4), torch.tensor([3, 1, 2, 0])):  # longest first, and in an order that reads padding
        model.zero_grad()
        logits = model(features[order], tokens[order]).logits
        (logits * weights[order])[mask[order]].sum().backward()
        gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        found.append([logits[order.argsort()][mask], *gradients])
    for ours, other in zip(*found, strict=True):
        torch.testing.assert_close(ours, other)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_image_matters(name: str) -> None:
    model, tokens = make(name), captions()
    first, second = images(name), images(name).flip(0)
    difference = (model(first, tokens).logits - model(second, tokens).logits).abs()
    assert difference.amax(2).min() > 1e-5


@pytest.mark.parametrize("name", SETTINGS)
def test_captions_of_one_image_share_its_features(name: str) -> None:
    model, features, tokens = make(name), images(name), captions(6)
    rows = torch.tensor([0, 0, 3, 1, 1, 1])
    torch.testing.assert_close(model(features, tokens, rows).logits, model(features[rows], tokens).logits)


@pytest.mark.parametrize("name", ATTENDING)
def test_attention_is_a_distribution_over_places(name: str) -> None:
    attention = make(name)(images(name), captions()).attention
    assert attention is not None
    assert attention.shape == (4, 7, PLACES)
    assert attention.min() >= 0
    torch.testing.assert_close(attention.sum(2), torch.ones(4, 7))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_handful_of_captions_is_learned_by_heart(name: str) -> None:
    model, features, tokens = make(name, dropout=0.0), images(name), captions()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    torch.manual_seed(1)
    for _ in range(150):
        taught = model(features, tokens[:, :-1])
        loss = cross_entropy(taught.logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    state, word, told = model.start(features), tokens[:, 0], []
    for _ in range(tokens.shape[1] - 1):
        log_probs, state, _ = model.step(word, state)
        word = log_probs.argmax(1)
        told.append(word)
    assert torch.equal(torch.stack(told, dim=1), tokens[:, 1:])


@pytest.mark.parametrize("name", SETTINGS)
def test_weights_written_and_read_again_tell_the_same(name: str, tmp_path: Path) -> None:
    model, features, tokens = make(name), images(name), captions()
    save_file({key: value.clone() for key, value in model.state_dict().items()}, tmp_path / "model.safetensors")
    other = make(name, seed=9)
    assert not torch.equal(other(features, tokens).logits, model(features, tokens).logits)
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(other(features, tokens).logits, model(features, tokens).logits)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "attend-narrow"])
def test_given_word_vectors_are_used_and_left_alone_when_frozen(name: str) -> None:
    vectors = torch.randn(WORDS, 5)
    for freeze in (True, False):
        settings = read_model_settings({**SETTINGS[name], "freeze": freeze})
        model = build(settings, given(name, vectors.clone()))
        model(images(name), captions()).logits.square().sum().backward()
        table = model.words.table.weight
        assert torch.equal(table, vectors)
        assert table.requires_grad is not freeze
        assert (table.grad is None) is freeze


def test_levels_below_the_grid_are_read_and_filling_is_not() -> None:
    model, features, tokens = make("attend-levels"), images("attend-levels"), captions()
    told = model(features, tokens).logits
    filling, level = features.clone(), features.clone()
    filling[:, -1, LEVELS - FEATURES :] += 1
    level[:, -1, LEVELS - FEATURES - 1] += 1
    assert torch.equal(model(filling, tokens).logits, told)
    assert (model(level, tokens).logits - told).abs().amax(2).min() > 1e-5


@pytest.mark.parametrize("name", ["convolutional", "merge"])
def test_models_that_read_no_levels_say_so(name: str) -> None:
    with pytest.raises(RecipeError, match="reads no levels"):
        build(read_model_settings(SETTINGS[name]), given("attend-levels"))
