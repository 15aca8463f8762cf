"""The attention captioner against the paper's equations, written out."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seetell.learn.models.attend import Attend
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.recipes import RecipeError
from seetell.learn.recipes.model_settings import AttendSettings
from seetell.settings import read

WORDS, FEATURES, PLACES = 11, 7, 5


def make(**settings: Any) -> Attend:
    torch.manual_seed(3)
    sizes = {"units": 6, "word_dimensions": 4, "attention_dimensions": 8}
    vectors = settings.pop("vectors", None)
    chosen = read(AttendSettings, {**sizes, **settings})
    return Attend(chosen, ModelInputs(features=FEATURES, words=WORDS, vectors=vectors))


def data(count: int = 3) -> tuple[Tensor, Tensor]:
    torch.manual_seed(4)
    return torch.randn(count, PLACES, FEATURES), torch.randint(1, WORDS, (count, 6))


def written_out(model: Attend, annotations: Tensor, words: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, α and β of one caption, one gate, place and word at a time, by the equations of section 3.1.2."""
    n = model.recurrent.units
    w, b = model.recurrent.input.weight.split(n), model.recurrent.input.bias.split(n)
    u, z = model.recurrent.recurrent.weight.split(n), model.context.weight.split(n)
    mean = sum(annotations) / len(annotations)
    h, c = model.initial_h(mean), model.initial_c(mean)
    logits, alphas, betas = [], [], []
    for word in words:
        e = torch.stack(
            [
                model.energy.weight[0] @ torch.tanh(model.key.weight @ a + model.key.bias + model.query.weight @ h)
                for a in annotations
            ]
        )
        alpha = e.exp() / e.exp().sum()
        beta = torch.sigmoid(model.gate.weight[0] @ h + model.gate.bias[0])
        context = beta * sum(weight * a for weight, a in zip(alpha, annotations, strict=True))
        read = model.words.table.weight[word]
        gates = [w[k] @ read + u[k] @ h + z[k] @ context + b[k] for k in range(4)]
        i, f, o = (torch.sigmoid(gate) for gate in gates[:3])
        c = f * c + i * torch.tanh(gates[3])
        h = o * torch.tanh(c)
        deep = read + model.output_state(h) + model.output_context.weight @ context
        logits.append(model.output.weight @ deep + model.output.bias)
        alphas.append(alpha)
        betas.append(beta)
    return torch.stack(logits), torch.stack(alphas), torch.stack(betas)


def test_soft_attention_follows_the_equations() -> None:
    model, (features, tokens) = make().eval(), data()
    taught = model(features, tokens)
    for row in range(3):
        logits, alpha, beta = written_out(model, features[row], tokens[row].tolist())
        torch.testing.assert_close(taught.logits[row], logits)
        torch.testing.assert_close(taught.attention[row], alpha)
        torch.testing.assert_close(taught.gate[row], beta)
    assert taught.log_location is None


def test_without_the_gate_the_context_is_whole() -> None:
    model, open_gate = make(gate=False).eval(), make().eval()
    open_gate.load_state_dict(model.state_dict(), strict=False)
    nn.init.zeros_(open_gate.gate.weight)
    nn.init.constant_(open_gate.gate.bias, 50.0)
    features, tokens = data()
    taught = model(features, tokens)
    assert taught.gate is None
    torch.testing.assert_close(taught.logits, open_gate(features, tokens).logits)


def test_hard_attention_looks_at_the_most_probable_place_out_of_training() -> None:
    model, (features, tokens) = make(attention="hard", gate=False).eval(), data()
    state = model.start(features)
    probable = model._attention(state["keys"], state["h"]).argmax(1)
    log_probs, _, look = model.step(tokens[:, 0], state)
    assert torch.equal(look, torch.eye(PLACES)[probable])
    # All other places may hold anything, as long as they are no more probable: only keys and the mean see them.
    blank = torch.where(look[:, :, None] > 0, features, 0.0)
    again, _, _ = model.step(tokens[:, 0], {**state, "annotations": blank})
    torch.testing.assert_close(log_probs, again)


def test_places_are_drawn_as_often_as_their_probability_says() -> None:
    model = make(attention="hard", gate=False, expected=0.0, dropout=0.0).train()
    features, tokens = data(1)
    taught = model(features.expand(4000, -1, -1), tokens[:, :1].expand(4000, -1))
    alpha = taught.attention[0, 0]
    chances = taught.log_location[:, 0].exp()
    frequencies = torch.stack([(chances - chance).abs().lt(1e-6).float().mean() for chance in alpha])
    torch.testing.assert_close(frequencies, alpha, atol=0.03, rtol=0)
    expected = -(alpha * alpha.log()).sum()
    torch.testing.assert_close(taught.entropy[:, 0], expected.expand(4000))


def test_for_half_of_the_images_the_place_is_its_expectation() -> None:
    model = make(attention="hard", gate=False, dropout=0.0).train()
    soft = make(attention="soft", gate=False, dropout=0.0)
    soft.load_state_dict(model.state_dict())
    features, tokens = data(1)
    features, tokens = features.expand(400, -1, -1), tokens.expand(400, -1)
    taught, expectation = model(features, tokens), soft(features, tokens)
    as_expected = (taught.logits - expectation.logits).abs().amax((1, 2)) < 1e-5
    assert 0.4 < as_expected.float().mean() < 0.6
    # Whole captions are one or the other, and what was not drawn has no log-probability.
    assert torch.equal((taught.log_location == 0).all(1), as_expected)
    assert torch.equal((taught.log_location == 0).any(1), as_expected)
    assert torch.equal(taught.expected, as_expected)


@pytest.mark.parametrize(("expected", "flows"), [(0.0, False), (1.0, True)])
def test_gradients_reach_the_attention_through_the_expectation_only(expected: float, flows: bool) -> None:
    model = make(attention="hard", gate=False, expected=expected, dropout=0.0).train()
    features, tokens = data()
    taught = model(features, tokens)
    (through_words,) = torch.autograd.grad(
        taught.logits.square().sum(), model.energy.weight, retain_graph=True, materialize_grads=True
    )
    assert bool(through_words.abs().max() > 0) is flows
    for term in (taught.log_location, taught.entropy):
        (gradient,) = torch.autograd.grad(
            term.sum(), model.energy.weight, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        wanted = True if term is taught.entropy else not flows
        assert bool(gradient.abs().max() > 0) is wanted


def test_extreme_energies_stay_finite() -> None:
    model = make(attention="hard", gate=False).train()
    with torch.no_grad():
        model.energy.weight.mul_(1e4)
    taught = model(*data())
    (taught.log_location.sum() + taught.entropy.sum() + taught.logits.sum()).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_frozen_vectors_cannot_be_tied() -> None:
    with pytest.raises(RecipeError, match="tied"):
        make(vectors=torch.randn(WORDS, 4), freeze=True, tied=True)
