"""The retrieval models: shapes, unit length, padding that changes nothing, over-fitting a handful, save and load."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from seetell.learn.losses import Contrastive, MaxOfHinges
from seetell.learn.models import ModelInputs, build
from seetell.learn.models.sentences import SentenceEncoder
from seetell.learn.recipes import RecipeError, read_model_settings

WORDS, FEATURES = 30, 12


def vectors(width: int = 7) -> Tensor:
    table = torch.randn(WORDS, width, generator=torch.Generator().manual_seed(5))
    table[0] = 0
    return table


def tiny_sentences() -> SentenceEncoder:
    torch.manual_seed(3)
    return SentenceEncoder(WORDS, width=8, layers=2, heads=2, inner=16, positions=20)


def make_model(settings: dict[str, Any], **inputs: Any) -> Any:
    return build(read_model_settings(settings), ModelInputs(**{"features": FEATURES, "words": WORDS, **inputs}))


MODELS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "visual_semantic": (
        lambda: make_model(
            {"kind": "visual_semantic", "dimensions": 16, "word_dimensions": 8},
        ),
        (FEATURES,),
    ),
    "visual_semantic, absolute": (
        lambda: make_model(
            {
                "kind": "visual_semantic",
                "dimensions": 16,
                "word_dimensions": 8,
                "absolute": True,
                "similarity": "order",
            },
        ),
        (FEATURES,),
    ),
    "two_branch": (
        lambda: make_model(
            {"kind": "two_branch", "layers": [24, 20, 16], "dropout": 0.1},
            vectors=vectors(),
        ),
        (FEATURES,),
    ),
    "attentive_match": (
        lambda: make_model(
            {"kind": "attentive_match", "dimensions": 16, "hidden": 20, "units": 8, "word_dimensions": 9, "looks": 2},
            vectors=vectors(),
            trained=20,
        ),
        (5, FEATURES),
    ),
    "sentence_match": (
        lambda: make_model(
            {"kind": "sentence_match", "dimensions": 16, "hidden": 20, "image_dropout": 0.1, "text_dropout": 0.1},
            sentences=tiny_sentences(),
        ),
        (FEATURES,),
    ),
    "sentence_match, two pairs": (
        lambda: make_model(
            {"kind": "sentence_match", "dimensions": 16, "pairs": 2, "hidden": 20},
            sentences=tiny_sentences(),
        ),
        (FEATURES,),
    ),
    "sentence_match, a layer trained": (
        lambda: make_model(
            {"kind": "sentence_match", "dimensions": 16, "hidden": 20, "trained_layers": 1},
            sentences=tiny_sentences(),
        ),
        (FEATURES,),
    ),
}


def handful(shape: tuple[int, ...], count: int = 12) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(1)
    lengths = torch.randint(1, 7, (count,), generator=random)
    tokens = torch.randint(4, 20, (count, 6), generator=random)
    tokens[torch.arange(6) >= lengths[:, None]] = 0
    return torch.randn(count, *shape, generator=random), tokens, lengths


@pytest.mark.parametrize("name", MODELS)
def test_both_sides_are_unit_vectors_of_one_space(name: str) -> None:
    make, shape = MODELS[name]
    model = make().eval()
    features, tokens, lengths = handful(shape)
    for side in (model.images(features), model.texts(tokens, lengths)):
        assert side.shape == (12, model.dimensions) == (12, 16)
        assert torch.allclose(side.norm(dim=1), torch.ones(12), atol=1e-5)
        assert not name.endswith("absolute") or (side >= 0).all()


@pytest.mark.parametrize("name", MODELS)
def test_padding_and_neighbours_change_nothing(name: str) -> None:
    make, shape = MODELS[name]
    model = make().eval()
    _, tokens, lengths = handful(shape)
    together = model.texts(tokens, lengths)
    longer = model.texts(torch.cat([tokens, torch.zeros(12, 4, dtype=torch.long)], 1), lengths)
    alone = torch.cat([model.texts(tokens[i : i + 1, : lengths[i]], lengths[i : i + 1]) for i in range(12)])
    assert torch.allclose(together, longer, atol=1e-6)
    assert torch.allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_handful_is_learned_by_heart(name: str) -> None:
    torch.manual_seed(0)
    make, shape = MODELS[name]
    model = make()
    features, tokens, lengths = handful(shape)
    loss: nn.Module = MaxOfHinges(0.2) if "order" not in name else Contrastive()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        scores = model.images(features) @ model.texts(tokens, lengths).T
        optimiser.zero_grad()
        loss(scores, torch.eye(12, dtype=torch.bool)).backward()
        optimiser.step()
    model.eval()
    scores = model.images(features) @ model.texts(tokens, lengths).T
    assert (scores.argmax(0) == torch.arange(12)).float().mean() >= 0.9
    assert (scores.argmax(1) == torch.arange(12)).float().mean() >= 0.9


@pytest.mark.parametrize("name", MODELS)
def test_saved_and_loaded_it_gives_the_same(name: str, tmp_path: Path) -> None:
    make, shape = MODELS[name]
    model, other = make().eval(), make().eval()
    features, tokens, lengths = handful(shape)
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(model.images(features), other.images(features))
    assert torch.equal(model.texts(tokens, lengths), other.texts(tokens, lengths))


def test_pairs_share_the_dimensions_evenly() -> None:
    with pytest.raises(RecipeError, match="16 dimensions cannot be divided among 3 pairs"):
        make_model(
            {"kind": "sentence_match", "dimensions": 16, "pairs": 3},
            sentences=tiny_sentences(),
        )


def test_a_sentence_encoder_is_neither_trained_nor_saved() -> None:
    model = MODELS["sentence_match"][0]().train()
    assert not any("layers" in name or "words" in name for name in model.state_dict())
    assert not model.sentences.training
    assert not any(parameter.requires_grad for parameter in model.sentences.parameters())


def test_layers_that_are_trained_are_saved_and_start_as_they_were() -> None:
    model = MODELS["sentence_match, a layer trained"][0]()
    own = {name for name in model.state_dict() if name.startswith("encoder.0.")}
    assert own == {f"encoder.0.{name}" for name in model.sentences.layers[-1].state_dict()}
    fixed = {name for name, parameter in model.encoder.named_parameters() if not parameter.requires_grad}
    assert fixed == {"0.outer_norm.weight", "0.outer_norm.bias"}
    assert not any(parameter.requires_grad for parameter in model.sentences.parameters())
    _, tokens, lengths = handful((FEATURES,))
    summed = model.eval().summed(model.read(tokens, lengths), lengths)
    assert torch.allclose(summed, model.sentences(tokens, lengths), atol=1e-6)


def test_what_a_sentence_encoder_hardly_uses_has_a_finite_gradient() -> None:
    """MiniLM has a number that its last normalisation multiplies by 1e-32; standardised, it is as large as others."""
    model = MODELS["sentence_match, a layer trained"][0]()
    with torch.no_grad():
        model.encoder[-1].outer_norm.weight[3] = 1e-32
        model.encoder[-1].outer_norm.bias[3] = 0
    features, tokens, lengths = handful((FEATURES,))
    text_states = model.read(tokens, lengths)
    with torch.no_grad():
        model.fit_texts(model.eval().summed(text_states, lengths))
    assert model.text_transform.scale.max() > 1e30
    (model.train().images(features) * model.texts_read(text_states, lengths)).sum().backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert len(gradients) > 10
    assert all(torch.linalg.vector_norm(gradient).isfinite() for gradient in gradients)


def test_captions_trained_on_by_length_are_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS["sentence_match, a layer trained"][0]()
    monkeypatch.setattr("seetell.learn.models.sentence_match.AT_ONCE", 5)
    _, tokens, lengths = handful((FEATURES,))
    text_states = model.read(tokens, lengths)
    by_length, at_once = model.train().summed(text_states, lengths), model.eval().summed(text_states, lengths)
    assert torch.allclose(by_length, at_once, atol=1e-6)


def test_more_layers_than_there_are_cannot_be_trained() -> None:
    settings = {"kind": "sentence_match", "trained_layers": 3}
    with pytest.raises(RecipeError, match="has 2 layers, not 3"):
        make_model(settings, sentences=tiny_sentences())


@pytest.mark.parametrize("name", ["sentence_match", "sentence_match, a layer trained"])
def test_the_frozen_part_of_the_text_side_can_be_read_before(name: str) -> None:
    model = MODELS[name][0]().eval()
    _, tokens, lengths = handful((FEATURES,))
    text_states = model.read(tokens, lengths)
    with torch.no_grad():
        summed = model.summed(text_states, lengths)
    model.fit_texts(summed)
    scaled = model.text_transform(summed)
    assert torch.allclose(scaled.mean(0), torch.zeros(16), atol=1e-5)
    assert torch.allclose(scaled.std(0, correction=0), torch.ones(16), atol=1e-4)
    assert torch.equal(model.texts_read(text_states, lengths), model.texts(tokens, lengths))


def test_given_word_vectors_of_two_branch_stay_as_they_are() -> None:
    model = MODELS["two_branch"][0]()
    assert not model.words.table.weight.requires_grad
    assert torch.equal(model.words.table.weight, vectors())


def test_words_that_no_caption_had_lie_where_their_vector_puts_them() -> None:
    """Word 25 is not among the 20 trained; with the vector of word 7 it is read as word 7 was before training."""
    given = vectors()
    given[25] = given[7]
    model = make_model(
        {"kind": "attentive_match", "dimensions": 16, "hidden": 20, "units": 8, "word_dimensions": 9},
        vectors=given,
        trained=20,
    ).eval()
    one, other = (model.texts(torch.tensor([[5, word]]), torch.tensor([2])) for word in (7, 25))  # type: ignore[operator]
    assert torch.allclose(one, other)


def test_two_branch_is_a_bag_of_words_and_the_others_are_not() -> None:
    tokens, lengths = torch.tensor([[5, 9, 12]]), torch.tensor([3])
    for name, (make, _) in MODELS.items():
        model = make().eval()
        same = torch.allclose(model.texts(tokens, lengths), model.texts(tokens.flip(1), lengths), atol=1e-5)
        assert same == (name == "two_branch"), name


def test_a_mistaken_setting_is_named() -> None:
    with pytest.raises(RecipeError, match="Did you mean 'dimensions'"):
        make_model({"kind": "visual_semantic", "dimension": 3})
    with pytest.raises(RecipeError, match="there is no model 'visual'"):
        make_model({"kind": "visual"})
