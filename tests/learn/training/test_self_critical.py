"""Rewards, and the gradient of self-critical training against the expectation it estimates."""

from itertools import product
from typing import Literal

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from seetell.decoding import Rules
from seetell.learn.models.initial import Initial
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.recipes import RecipeError, load_recipe
from seetell.learn.recipes.loss_settings import RewardWeights, SelfCriticalSettings
from seetell.learn.recipes.model_settings import InitialSettings
from seetell.learn.tasks.captioning.objectives import Batch, Likelihood
from seetell.learn.tasks.captioning.self_critical import Rewards, SelfCriticalObjective

SELF_CRITICAL = "attend-soft-self-critical"
PAD, START, END, UNKNOWN = range(4)
RULES = Rules(start=START, end=END, max_length=2, forbidden=(PAD, UNKNOWN))
REFERENCES = [[[4, 5, END], [4, END]], [[5, END], [5, 5, END]]]


def model(dropout: float = 0.0) -> Initial:
    torch.manual_seed(0)
    return Initial(
        InitialSettings(units=4, word_dimensions=4, dropout=dropout), ModelInputs(features=3, words=6)
    ).train()


def batch(seed: int = 0) -> Batch:
    features = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, -0.5]])
    tokens = torch.tensor([[START, 4, 5, END], [START, 5, END, PAD]])
    return Batch(tokens, features, torch.tensor([0, 1]), torch.tensor([0, 1]), torch.tensor(seed))


def test_rewards_are_the_metrics_in_units_of_one() -> None:
    from seetell.metrics.captions.cider import Cider

    captions, images = [[4, 5, END], [5, END], [5]], np.array([0, 0, 1])
    cider = Cider(REFERENCES).scores(captions, images) / 100
    np.testing.assert_allclose(Rewards(REFERENCES, RewardWeights(cider=2.0))(captions, images), 2 * cider)
    mixed = Rewards(REFERENCES, RewardWeights(cider=1.0, bleu4=1.0))(captions, images)
    assert mixed[0] > cider[0]  # a caption that is a reference, word for word
    with pytest.raises(RecipeError, match="meteor"):
        load_recipe(SELF_CRITICAL, settings=["phases.loss.reward={meteor = 1.0}"])


def expected_gradients(network: Initial, objective: SelfCriticalObjective) -> list[torch.Tensor]:
    """The gradient of −E[reward] a word, by going through every caption there is."""
    network.eval()
    features = batch().features
    words = [4, 5]
    captions = [[END]] + [[a, END] for a in words] + [list(pair) for pair in product(words, words)]
    total, length = torch.zeros(()), torch.zeros(())
    for image in range(2):
        for caption in captions:
            state, log = network.start(features[image : image + 1]), torch.zeros(())
            word = START
            for following in caption:
                log_probs, state, _ = network.step(torch.tensor([word]), state)
                allowed = log_probs.index_fill(1, torch.tensor([PAD, START, UNKNOWN]), float("-inf"))
                log = log + log_softmax(allowed / objective.settings.temperature, dim=1)[0, following]
                word = following
            reward = float(objective.rewards([caption], np.array([image]))[0])
            total = total - log.exp() * reward
            length = length + log.exp().detach() * len(caption)
    network.train()
    return list(
        torch.autograd.grad(total / length, list(network.parameters()), materialize_grads=True, allow_unused=True)
    )


@pytest.mark.parametrize(("baseline", "temperature"), [("others", 1.0), ("greedy", 1.0), ("others", 0.5)])
def test_the_gradient_is_that_of_the_expected_reward(baseline: Literal["others", "greedy"], temperature: float) -> None:
    network = model()
    objective = SelfCriticalObjective(
        REFERENCES, RULES, SelfCriticalSettings(samples=4000, baseline=baseline, temperature=temperature)
    )
    loss, logs = objective(network, batch())
    found = torch.autograd.grad(loss, list(network.parameters()), materialize_grads=True, allow_unused=True)
    wanted = expected_gradients(network, objective)
    scale = max(float(gradient.abs().max()) for gradient in wanted)
    assert scale > 0.01
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=0.05 * scale, rtol=0)
    assert logs["reward"] > 0


def test_drawn_captions_depend_on_the_seed_alone() -> None:
    objective = SelfCriticalObjective(REFERENCES, RULES, SelfCriticalSettings(samples=8))
    network = model(dropout=0.5)
    losses = [objective(network, batch(seed))[0].item() for seed in (1, 1, 2)]
    assert losses[0] == losses[1] != losses[2]
    assert network.training


def test_training_raises_the_reward() -> None:
    network, objective = model(), SelfCriticalObjective(REFERENCES, RULES, SelfCriticalSettings(samples=20))
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
    rewards = []
    for seed in range(60):
        loss, logs = objective(network, batch(seed))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rewards.append(float(logs["reward"]))
    assert np.mean(rewards[-5:]) > 1.5 * np.mean(rewards[:5])


def test_the_likelihood_can_be_mixed_in() -> None:
    network = model()
    plain, mixed = (
        SelfCriticalObjective(REFERENCES, RULES, SelfCriticalSettings(samples=4, likelihood=weight))
        for weight in (0.0, 0.5)
    )
    likelihood, _ = Likelihood()(network, batch())
    torch.testing.assert_close(mixed(network, batch())[0], plain(network, batch())[0] + 0.5 * likelihood)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(RecipeError, match="others"):
        load_recipe(SELF_CRITICAL, settings=["phases.loss.samples=1"])
    with pytest.raises(RecipeError, match="mean"):
        load_recipe(SELF_CRITICAL, settings=["phases.loss.baseline=mean"])
    with pytest.raises(RecipeError, match="temperature"):
        load_recipe(SELF_CRITICAL, settings=["phases.loss.temperature=0.0"])
