"""Ranking losses against slow loops over triplets, numerical gradients, and extremes."""

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from seetell.errors import SeetellError
from seetell.learn.losses import (
    All,
    Contrastive,
    HardAndSemiHard,
    HardestAnchor,
    HardOnly,
    KHardest,
    MaxOfHinges,
    SemiHardOnly,
    SumOfHinges,
    TripletLoss,
    make_loss,
    positive_mask,
)
from seetell.learn.recipes import read_loss_settings

DIAGONAL = torch.eye(6, dtype=torch.bool)
# Images with three captions, one, two and none; the last caption describes two images.
RAGGED = torch.tensor(
    [[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0]]
).bool()
MASKS = pytest.mark.parametrize("positives", [DIAGONAL, RAGGED], ids=["diagonal", "ragged"])


def scores_for(positives: Tensor, seed: int = 0, spread: float = 0.3) -> Tensor:
    return torch.randn(positives.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * spread


def triplets(scores: Tensor, positives: Tensor) -> Iterator[tuple[int, int, list[float]]]:
    """Anchor, positive, and the gaps of all negatives of the anchor."""
    rows, columns = scores.shape
    for anchor, positive in product(range(rows), range(columns)):
        if positives[anchor, positive]:
            yield (
                anchor,
                positive,
                [
                    scores[anchor, other].item() - scores[anchor, positive].item()
                    for other in range(columns)
                    if not positives[anchor, other]
                ],
            )


def slow(
    scores: Tensor, positives: Tensor, margin: float, keep: Callable[[list[float], float], list[float]], reduction: str
) -> float:
    hinges = []
    for _, _, gaps in triplets(scores, positives):
        hinges += [max(0.0, margin + gap) for gap in keep(gaps, margin)]
    if reduction == "sum":
        return sum(hinges)
    if reduction == "mean_nonzero":
        hinges = [hinge for hinge in hinges if hinge > 0]
    return sum(hinges) / max(1, len(hinges))


KEEP: dict[str, tuple[object, Callable[[list[float], float], list[float]]]] = {
    "all": (All(), lambda gaps, m: gaps),
    "hard and semi-hard": (HardAndSemiHard(), lambda gaps, m: [g for g in gaps if g > -m]),
    "hard": (HardOnly(), lambda gaps, m: [g for g in gaps if g > 0]),
    "semi-hard": (SemiHardOnly(), lambda gaps, m: [g for g in gaps if -m < g <= 0]),
    "hardest": (KHardest(1), lambda gaps, m: sorted(gaps)[-1:]),
    "3 hardest": (KHardest(3), lambda gaps, m: sorted(gaps)[-3:]),
}


@MASKS
@pytest.mark.parametrize("name", KEEP)
@pytest.mark.parametrize("reduction", ["sum", "mean", "mean_nonzero"])
def test_triplet_loss_is_that_of_a_slow_loop(positives: Tensor, name: str, reduction: str) -> None:
    selection, keep = KEEP[name]
    scores = scores_for(positives)
    loss = TripletLoss(0.2, selection, lambda_=0.3, reduction=reduction)(scores, positives)  # type: ignore[arg-type]
    expected = slow(scores, positives, 0.2, keep, reduction) + 0.3 * slow(scores.T, positives.T, 0.2, keep, reduction)
    assert expected > 0
    assert loss.item() == pytest.approx(expected)


def test_sum_of_hinges_is_equation_1() -> None:
    scores = scores_for(DIAGONAL, spread=0.1)
    expected = 0.0
    for i, k in product(range(6), range(6)):
        if i != k:
            expected += max(0.0, 0.2 - scores[i, i].item() + scores[i, k].item())
            expected += max(0.0, 0.2 - scores[i, i].item() + scores[k, i].item())
    assert SumOfHinges(0.2)(scores, DIAGONAL).item() == pytest.approx(expected)


def test_max_of_hinges_is_equation_4() -> None:
    scores = scores_for(DIAGONAL, spread=0.1)
    expected = 0.0
    for i in range(6):
        others = [k for k in range(6) if k != i]
        expected += max(max(0.0, 0.2 - scores[i, i].item() + scores[i, k].item()) for k in others)
        expected += max(max(0.0, 0.2 - scores[i, i].item() + scores[k, i].item()) for k in others)
    assert MaxOfHinges(0.2)(scores, DIAGONAL).item() == pytest.approx(expected)


@MASKS
def test_the_maximum_over_anchors_is_that_of_a_slow_loop(positives: Tensor) -> None:
    """Σ_k max_i [α − S(i, c) + S(i, c_k)]₊, and the same with texts as anchors."""
    scores = scores_for(positives, spread=0.1)
    expected = 0.0
    for table, mask in ((scores, positives), (scores.T, positives.T)):
        rows, columns = table.shape
        for other in range(columns):
            hinges = [
                max(0.0, 0.2 - table[anchor, own].item() + table[anchor, other].item())
                for anchor, own in product(range(rows), range(columns))
                if mask[anchor, own] and not mask[anchor, other]
            ]
            expected += max(hinges)
    loss = TripletLoss(0.2, HardestAnchor())(scores, positives)
    assert loss.item() == pytest.approx(expected)
    assert loss.item() != pytest.approx(MaxOfHinges(0.2)(scores, positives).item())


@pytest.mark.parametrize(("k", "published"), [(1, 6.4), (10, 64.0)])
def test_k_hardest_sums_as_kolluru_says(k: int, published: float) -> None:
    """A batch of 64 and a margin of 0.1: from 0 to 6.4 with one negative, to 64 with ten."""
    one_way = TripletLoss(0.1, KHardest(k), lambda_=0.0)
    positives = torch.eye(64)
    assert one_way(torch.zeros(64, 64), positives).item() == pytest.approx(published)
    assert one_way(positives * 5, positives).item() == 0
    both = TripletLoss(0.1, KHardest(k), lambda_=0.1)
    assert both(torch.zeros(64, 64), positives).item() == pytest.approx(published * 1.1)


def slow_contrastive(scores: Tensor, positives: Tensor, temperature: float) -> float:
    losses = [
        math.log(1 + sum(math.exp(gap / temperature) for gap in gaps)) for _, _, gaps in triplets(scores, positives)
    ]
    return sum(losses) / len(losses)


@MASKS
def test_contrastive_is_that_of_a_slow_loop(positives: Tensor) -> None:
    scores = scores_for(positives)
    expected = (slow_contrastive(scores, positives, 0.2) + slow_contrastive(scores.T, positives.T, 0.2)) / 2
    assert Contrastive(0.2).double()(scores, positives).item() == pytest.approx(expected)


def test_contrastive_on_a_diagonal_is_cross_entropy() -> None:
    scores = scores_for(DIAGONAL)
    there, back = (nn.functional.cross_entropy(way / 0.1, torch.arange(6)) for way in (scores, scores.T))
    assert Contrastive(0.1).double()(scores, DIAGONAL).item() == pytest.approx((there + back).item() / 2)


def test_temperature_learns_within_its_limit_and_comes_back() -> None:
    positives = torch.eye(4)
    loss = Contrastive(temperature=0.012, lowest=0.01)
    optimiser = torch.optim.SGD(loss.parameters(), lr=1.0)
    for sign, steps in ((1, 20), (-1, 20)):  # well matched pairs lower τ to its limit, badly matched ones raise it
        for _ in range(steps):
            optimiser.zero_grad()
            loss(positives * sign * 0.05, positives).backward()
            optimiser.step()
        if sign == 1:
            loss(positives, positives)  # the limit is kept when it is used
            assert loss.temperature == pytest.approx(0.01)
    assert loss.temperature > 0.02
    assert "log_scale" in loss.state_dict()
    assert not list(filter(lambda p: p.requires_grad, Contrastive(learned=False).parameters()))


ALL_LOSSES = [
    SumOfHinges(0.2),
    MaxOfHinges(0.2),
    *(TripletLoss(0.2, selection, lambda_=0.5) for selection, _ in KEEP.values()),  # type: ignore[arg-type]
    Contrastive(),
]
EACH = pytest.mark.parametrize("loss", ALL_LOSSES, ids=str)


@EACH
@MASKS
def test_gradients(loss: nn.Module, positives: Tensor) -> None:
    own = deepcopy(loss).double()
    assert gradcheck(lambda scores: own(scores, positives), scores_for(positives, spread=1.0).requires_grad_())


@EACH
def test_captions_of_one_image_do_not_touch_each_other(loss: nn.Module) -> None:
    """However badly an image's captions score against each other, none is pushed away by another."""
    positives = positive_mask(torch.tensor([7, 8]), torch.tensor([7, 7, 7, 8]))
    scores = torch.tensor([[-0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.1, 0.2]], requires_grad=True)
    loss(scores, positives).backward()
    assert scores.grad is not None
    assert (scores.grad[positives] <= 0).all()
    assert (scores.grad[~positives] >= 0).all()


@EACH
def test_order_of_the_batch_does_not_matter(loss: nn.Module) -> None:
    scores = scores_for(RAGGED).float()
    rows, columns = torch.tensor([3, 0, 4, 2, 1]), torch.tensor([6, 2, 0, 1, 5, 3, 4])
    moved = loss(scores[rows][:, columns], RAGGED[rows][:, columns])
    torch.testing.assert_close(moved, loss(scores, RAGGED))


@EACH
def test_without_negatives_the_loss_is_zero_and_has_a_gradient(loss: nn.Module) -> None:
    scores = torch.randn(1, 5, requires_grad=True)
    value = loss(scores, torch.ones(1, 5))
    value.backward()
    assert value.item() == 0
    assert scores.grad is not None
    assert not scores.grad.any()


@EACH
@pytest.mark.parametrize("size", [0.0, 1e4, -1e4, 1e30])
def test_extremes_stay_finite(loss: nn.Module, size: float) -> None:
    scores = (torch.ones(4, 4) * size + torch.eye(4) * -size / 2).requires_grad_()
    value = loss(scores, torch.eye(4))
    value.backward()
    assert value.isfinite()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


def test_equal_scores_teach_every_loss_but_the_hard_one() -> None:
    for loss in ALL_LOSSES:
        scores = torch.zeros(4, 4, requires_grad=True)
        loss(scores, torch.eye(4)).backward()
        assert scores.grad is not None
        assert bool(scores.grad.any()) == (getattr(loss, "selection", None) != HardOnly())


def test_half_precision_scores_are_summed_in_single_precision() -> None:
    scores = scores_for(DIAGONAL).to(torch.bfloat16)
    loss = SumOfHinges(0.2)(scores, DIAGONAL)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(SumOfHinges(0.2)(scores.double(), DIAGONAL).item(), rel=1e-5)


@EACH
@pytest.mark.parametrize(
    ("shape", "mask", "problem"),
    [((0, 0), (0, 0), "empty"), ((3, 0), (3, 0), "empty"), ((2, 2), (2, 2), "empty"), ((2, 3), (3, 2), "not one")],
)
def test_refusals(loss: nn.Module, shape: tuple[int, int], mask: tuple[int, int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        loss(torch.zeros(shape), torch.zeros(mask))


def made(settings: dict[str, object]) -> nn.Module:
    """The loss that a recipe's table describes."""
    return make_loss(read_loss_settings(settings))


def test_losses_by_name() -> None:
    loss = made({"kind": "triplet", "margin": 0.1, "lambda": 0.4, "selection": "k_hardest", "k": 10})
    assert isinstance(loss, TripletLoss)
    assert (loss.margin, loss.lambda_, loss.selection, loss.reduction) == (0.1, 0.4, KHardest(10), "sum")
    assert isinstance(made({"kind": "sum", "margin": 0.05}), SumOfHinges)
    assert isinstance(made({"kind": "max", "margin": 0.05, "reduction": "mean"}), MaxOfHinges)
    assert isinstance(made({"kind": "contrastive", "temperature": 0.1}), Contrastive)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"kind": "minimum"}, "there is no loss 'minimum'. Choose one of: sum, max"),
        ({"margin": 0.2}, "has no kind"),
        ({"kind": "sum", "margn": 0.2}, r"there is no setting 'margn'. Did you mean 'margin'\?"),
        ({"kind": "triplet", "selection": "easy"}, "selection is 'easy'; expected one of: all, hard"),
        ({"kind": "triplet", "selection": "hard", "k": 3}, "k belongs to the selection 'k_hardest', not to 'hard'"),
        ({"kind": "triplet", "k": 3}, "k belongs to the selection 'k_hardest', not to 'all'"),
        ({"kind": "triplet", "reduction": "median"}, "expected one of: sum, mean, mean_nonzero. Did you mean 'mean'"),
        ({"kind": "contrastive", "temperature": 0.001}, "below its lowest value"),
        ({"kind": "contrastive", "temperature": -1.0}, "temperature is -1.0; expected a number > 0"),
    ],
)
def test_settings_that_do_not_hold_together(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(SeetellError, match=problem):
        made(settings)
