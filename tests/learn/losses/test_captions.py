"""Caption losses against slow loops; rules that sample against the enumeration of all that can be sampled."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from seetell.learn.losses.captions import (
    CrossEntropy,
    DoublyStochastic,
    HardAttentionRule,
    SelfCritical,
    others_mean,
    word_log_likelihoods,
)

WORDS = torch.tensor([[1, 3, 2], [2, 0, 0], [3, 1, 0]])
MASK = torch.tensor([[1, 1, 1], [1, 0, 0], [1, 1, 0]]).bool()


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def log_softmax(values: list[float]) -> list[float]:
    normaliser = math.log(sum(math.exp(v) for v in values))
    return [v - normaliser for v in values]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("per", "count"), [("word", 6), ("sentence", 3)])
def test_cross_entropy_is_that_of_a_slow_loop(smoothing: float, per, count: int) -> None:  # type: ignore[no-untyped-def]
    logits = random(3, 3, 4)
    total = 0.0
    for b, t in product(range(3), range(3)):
        if MASK[b, t]:
            logs = log_softmax(logits[b, t].tolist())
            total -= (1 - smoothing) * logs[WORDS[b, t]] + smoothing * sum(logs) / 4
    loss = CrossEntropy(smoothing, per)
    assert loss(logits, WORDS, MASK).item() == pytest.approx(total / count)
    assert loss(logits.log_softmax(2), WORDS, MASK).item() == pytest.approx(total / count)


def test_padding_never_counts() -> None:
    logits = random(3, 3, 4).requires_grad_()
    CrossEntropy()(logits, WORDS, MASK).backward()
    assert logits.grad is not None
    assert not logits.grad[~MASK].any()
    assert logits.grad[MASK].any(1).all()
    spoilt = logits.detach().clone()
    spoilt[~MASK] = -torch.inf
    assert CrossEntropy()(spoilt, WORDS, MASK).item() == pytest.approx(CrossEntropy()(logits, WORDS, MASK).item())


def test_nothing_but_padding_costs_nothing() -> None:
    logits = random(3, 3, 4).requires_grad_()
    loss = CrossEntropy()(logits, WORDS, torch.zeros_like(MASK))
    loss.backward()
    assert loss.item() == 0


def test_word_log_likelihoods() -> None:
    logits = random(3, 3, 4)
    expected = [[log_softmax(logits[b, t].tolist())[WORDS[b, t]] for t in range(3)] for b in range(3)]
    torch.testing.assert_close(word_log_likelihoods(logits, WORDS), torch.tensor(expected, dtype=torch.float64))


def test_doubly_stochastic_is_equation_9() -> None:
    attention = random(3, 3, 5, seed=1).softmax(2)
    total = 0.0
    for b in range(3):
        for i in range(5):
            paid = sum(attention[b, t, i].item() for t in range(3) if MASK[b, t])
            total += (1 - paid) ** 2
    assert DoublyStochastic(0.7)(attention, MASK).item() == pytest.approx(0.7 * total / 3)
    assert gradcheck(lambda a: DoublyStochastic(2.0, total=1.5)(a, MASK), attention.requires_grad_())


def test_even_attention_costs_nothing() -> None:
    """Three words over three places: each place is owed 1 and gets it."""
    assert DoublyStochastic()(torch.eye(3)[None], torch.ones(1, 3).bool()).item() == 0


class TinyAttender(nn.Module):
    """Two words, three places, a state: log p(y | s) and p(s_2 | s_1) depend on what was looked at before."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Parameter(random(3, seed=2)), nn.Parameter(random(3, 3, seed=3))
        self.words = nn.Parameter(random(3, 3, 4, seed=4))  # after looking at i and then j, logits of both words

    def terms(self, places: tuple[int, int], words: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
        """log p(y_t | s), log p(s_t) and H[s_t], each (1, 2)."""
        i, j = places
        attention = [self.first.log_softmax(0), self.second[i].log_softmax(0)]
        likelihoods = [self.words[i, i].log_softmax(0)[words[0]], self.words[i, j].log_softmax(0)[words[1]]]
        locations = [attention[0][i], attention[1][j]]
        entropies = [-(logs.exp() * logs).sum() for logs in attention]
        likelihood, location, entropy = (torch.stack(term)[None] for term in (likelihoods, locations, entropies))
        return likelihood, location, entropy


@pytest.mark.parametrize("baseline", [0.0, -3.5, 10.0])
@pytest.mark.parametrize("kind", ["sentence", "word"])
def test_hard_rule_is_in_the_mean_the_gradient_of_the_bound(baseline: float, kind) -> None:  # type: ignore[no-untyped-def]
    """Over all sequences of places, weighted by p(s): equation 6, whatever the baseline, for λ_r = 1 and λ_e = 0."""
    model, words, mask = TinyAttender(), (1, 3), torch.ones(1, 2).bool()
    rule = HardAttentionRule(lambda_r=1.0, lambda_e=0.0, baseline=kind).double().eval()
    rule.average.fill_(baseline)
    bound = estimate = torch.zeros((), dtype=torch.float64)
    for places in product(range(3), range(3)):
        likelihood, location, entropy = model.terms(places, words)
        chance = location.sum().exp()
        bound = bound + chance * likelihood.sum()  # L_s, equation 5
        estimate = estimate - chance.detach() * rule(likelihood, location, entropy, mask)
    found, expected = (
        torch.autograd.grad(value, list(model.parameters()), retain_graph=True) for value in (estimate, bound)
    )
    assert all(part.any() for part in expected)
    torch.testing.assert_close(found, expected)


def test_hard_rule_weighs_its_terms_as_the_document_says() -> None:
    likelihood, location, entropy = (random(3, 3, seed=s).requires_grad_() for s in (5, 6, 7))
    rule = HardAttentionRule(lambda_r=0.3, lambda_e=0.05, per="word").double()
    rule.average.fill_(-2.0)
    expected_rows = torch.tensor([False, True, False])
    loss = rule(likelihood, location, entropy, MASK, expected_rows)
    gradients = torch.autograd.grad(loss, (likelihood, location, entropy))
    for b, t in product(range(3), range(3)):
        inside = float(MASK[b, t])
        advantage = sum(likelihood[b, u].item() for u in range(3) if MASK[b, u]) + 2.0
        expected = [inside, 0.3 * advantage * inside * (b != 1), 0.05 * inside]
        assert [-6 * g[b, t].item() for g in gradients] == pytest.approx(expected)


def test_the_moving_average_follows_drawn_captions_in_training_only() -> None:
    rule = HardAttentionRule().double()
    average = 0.0
    for seed in range(4):
        likelihood = random(3, 3, seed=seed) - 5
        expected_rows = torch.tensor([seed == 1, True, False])
        rule(likelihood, random(3, 3), random(3, 3), MASK, expected_rows)
        sums = [sum(likelihood[b, t].item() for t in range(3) if MASK[b, t]) for b in range(3) if not expected_rows[b]]
        average = 0.9 * average + 0.1 * sum(sums) / len(sums)
        assert rule.average.item() == pytest.approx(average)
    rule(random(3, 3), random(3, 3), random(3, 3), MASK, torch.ones(3).bool())
    rule.eval()(random(3, 3), random(3, 3), random(3, 3), MASK)
    assert rule.average.item() == pytest.approx(average)


def test_a_baseline_of_words_grows_with_the_caption() -> None:
    rule = HardAttentionRule(baseline="word", lambda_e=0.0).double()
    rule.average.fill_(-2.0)
    likelihood, location = torch.full((3, 3), -2.0).double(), random(3, 3).requires_grad_()
    rule(likelihood, location, location.detach(), MASK).backward()  # every word is as likely as foretold
    assert location.grad is not None
    assert not location.grad.any()
    assert rule.average.item() == pytest.approx(-2.0)
    rule(likelihood * 2, location, location.detach(), MASK)
    assert rule.average.item() == pytest.approx(0.9 * -2 + 0.1 * -4)


def test_the_moving_average_is_state() -> None:
    rule = HardAttentionRule()
    rule(random(3, 3).float() - 9, random(3, 3), random(3, 3), MASK)
    again = HardAttentionRule()
    again.load_state_dict(rule.state_dict())
    inputs = [random(3, 3, seed=s).float() for s in (1, 2, 3)]
    assert rule(*inputs, MASK).equal(again(*inputs, MASK))
    assert rule.average.equal(again.average)
    assert rule.average.item() != 0


@pytest.mark.parametrize(("per", "count"), [("word", 6), ("sentence", 3)])
def test_self_critical_is_that_of_a_slow_loop(per, count: int) -> None:  # type: ignore[no-untyped-def]
    logs, rewards, baselines = random(3, 3), torch.tensor([1.0, 0.2, 0.5]), torch.tensor([0.4, 0.6, 0.5])
    total = 0.0
    for b, t in product(range(3), range(3)):
        if MASK[b, t]:
            total -= (rewards[b] - baselines[b]).item() * logs[b, t].item()
    assert SelfCritical(per)(logs, MASK, rewards, baselines).item() == pytest.approx(total / count)


def test_self_critical_is_in_the_mean_the_gradient_of_the_reward() -> None:
    """All captions of two words from a vocabulary of three, where word 0 ends a caption; baseline at will."""
    first, second = random(3, seed=8).requires_grad_(), random(3, 3, seed=9).requires_grad_()
    reward = {(0,): 0.1, **{(a, b): 0.3 * a + 0.7 * b - 0.2 for a in (1, 2) for b in range(3)}}
    mean = estimate = torch.zeros((), dtype=torch.float64)
    for words, value in reward.items():
        logs = torch.stack([first.log_softmax(0)[words[0]], second[words[0]].log_softmax(0)[words[-1]]])
        chance = logs[: len(words)].sum().exp()
        mean = mean + chance * value
        mask = torch.tensor([[True, len(words) == 2]])
        loss = SelfCritical()(logs[None], mask, torch.tensor([value]).double(), torch.tensor([0.33]))
        estimate = estimate - chance.detach() * loss
    found, expected = (torch.autograd.grad(value, (first, second), retain_graph=True) for value in (estimate, mean))
    torch.testing.assert_close(found, expected)


def test_rewards_are_not_differentiated() -> None:
    rewards = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert not SelfCritical()(random(3, 3), MASK, rewards, torch.zeros(3)).requires_grad


def test_others_mean() -> None:
    found = others_mean(torch.tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]]))
    assert found.tolist() == [[4.0, 3.5, 1.5], [1.5, 1.5, 0.0]]
    with pytest.raises(ValueError, match="no others"):
        others_mean(torch.ones(4, 1))


@pytest.mark.parametrize("loss", [CrossEntropy, SelfCritical, HardAttentionRule])
def test_refusals(loss: type[nn.Module]) -> None:
    with pytest.raises(ValueError, match="per is 'page'"):
        loss(per="page")
