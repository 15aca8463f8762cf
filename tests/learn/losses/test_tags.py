"""Tag losses against slow loops, numerical gradients, and extremes in every precision."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from seetell.errors import SeetellError
from seetell.learn.losses import make_loss
from seetell.learn.losses.tags import TAG_LOSSES, Asymmetric, BinaryCrossEntropy, Focal, Softmax, Warp
from seetell.learn.recipes import read_loss_settings
from seetell.learn.recipes.loss_settings import AsymmetricSettings

# Two labels, one, all, none.
TARGETS = torch.tensor([[1, 0, 1, 0, 0], [0, 0, 0, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]])


def logits(seed: int = 0) -> Tensor:
    return torch.randn(4, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def slow_bce(x: list[float], y: list[int]) -> float:
    return sum(-math.log(sigmoid(a) if b else 1 - sigmoid(a)) for a, b in zip(x, y, strict=True)) / len(x)


def slow_focal(x: list[float], y: list[int]) -> float:
    total = 0.0
    for a, b in zip(x, y, strict=True):
        right = sigmoid(a) if b else 1 - sigmoid(a)
        total -= (0.25 if b else 0.75) * (1 - right) ** 2 * math.log(right)
    return total


def slow_asymmetric(x: list[float], y: list[int]) -> float:
    total = 0.0
    for a, b in zip(x, y, strict=True):
        p = sigmoid(a)
        shifted = max(p - 0.1, 0)
        total -= (1 - p) * math.log(p) if b else shifted**4 * math.log(1 - shifted)
    return total


def slow_warp(x: list[float], y: list[int]) -> float:
    total = 0.0
    for true in (j for j, b in enumerate(y) if b):
        gaps = [1 - x[true] + x[false] for false, b in enumerate(y) if not b]
        violations = [gap for gap in gaps if gap > 0]
        if violations:
            weight = sum(1 / r for r in range(1, len(violations) + 1))
            total += weight * sum(violations) / len(violations)
    return total


@pytest.mark.parametrize(
    ("loss", "slow"),
    [
        (BinaryCrossEntropy(), slow_bce),
        (Focal(2.0, alpha=0.25), slow_focal),
        (Asymmetric(1.0, 4.0, 0.1), slow_asymmetric),
        (Warp(), slow_warp),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, nn.Module) else "",
)
def test_loss_is_that_of_a_slow_loop(loss: nn.Module, slow) -> None:  # type: ignore[no-untyped-def]
    expected = sum(slow(x, y) for x, y in zip(logits().tolist(), TARGETS.tolist(), strict=True)) / 4
    assert expected > 0
    assert loss(logits(), TARGETS).item() == pytest.approx(expected)
    assert loss(logits(), TARGETS.bool()).item() == pytest.approx(expected)


def test_softmax_is_that_of_a_slow_loop_over_images_with_labels() -> None:
    losses = []
    for x, y in zip(logits().tolist(), TARGETS.tolist(), strict=True):
        normaliser = math.log(sum(math.exp(a) for a in x))
        own = [normaliser - a for a, b in zip(x, y, strict=True) if b]
        losses += [sum(own) / len(own)] if own else []
    assert len(losses) == 3
    assert Softmax()(logits(), TARGETS).item() == pytest.approx(sum(losses) / 3)


def test_focal_and_asymmetric_without_focus_are_binary_cross_entropy() -> None:
    expected = pytest.approx(BinaryCrossEntropy()(logits(), TARGETS).item() * 5)
    assert Focal(0.0)(logits(), TARGETS).item() == expected
    assert Asymmetric(0.0, 0.0, 0.0)(logits(), TARGETS).item() == expected
    both = Asymmetric(3.0, 3.0, 0.0)(logits(), TARGETS)
    assert both.item() == pytest.approx(Focal(3.0)(logits(), TARGETS).item())


def test_drawing_in_warp_gives_in_the_mean_what_its_distribution_says() -> None:
    """One true label and three false ones, of which two violate: all orders of drawing are equally likely."""
    x, y = torch.tensor([[1.0, 1.5, 0.5, -3.0]]), torch.tensor([[1, 0, 0, 0]])
    # The first violator is drawn first (2 of 3 times: rank 3 / 1 = 3) or second (rank ⌊3 / 2⌋ = 1), and is either one.
    expected = (2 / 3 * (1 + 1 / 2 + 1 / 3) + 1 / 3 * 1) * (1.5 + 0.5) / 2
    generator, warp = torch.Generator().manual_seed(0), Warp(sampled=True)
    mean = warp(x.expand(20_000, 4), y.expand(20_000, 4), generator).item()
    assert mean == pytest.approx(expected, rel=0.01)
    assert {round(warp(x, y, generator).item(), 3) for _ in range(60)} == {2.75, 0.917, 1.5, 0.5}


def test_drawing_in_warp_repeats_with_its_generator() -> None:
    one, two = (Warp(sampled=True)(logits(), TARGETS, torch.Generator().manual_seed(5)) for _ in range(2))
    assert one.item() == two.item()


VARIANTS = [
    BinaryCrossEntropy(),
    Softmax(),
    Warp(),
    Warp(sampled=True),
    Focal(),
    Focal(0.5, alpha=0.25),
    Asymmetric(),
    Asymmetric(1.0, 4.0, 0.0),
    Asymmetric(0.5, 0.5, 0.05),
]
EACH = pytest.mark.parametrize("loss", VARIANTS, ids=lambda loss: f"{type(loss).__name__}{VARIANTS.index(loss)}")


@EACH
def test_gradients(loss: nn.Module) -> None:
    def value(x: Tensor) -> Tensor:
        torch.manual_seed(1)  # a sampling loss draws the same each time
        result: Tensor = loss(x, TARGETS)
        return result

    assert gradcheck(value, logits(3).requires_grad_())


@EACH
@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("size", [0.0, 20.0, 100.0, 1e4])
def test_extremes_stay_finite(loss: nn.Module, precision: torch.dtype, size: float) -> None:
    """Every label true or false, every logit far up, far down, or in between."""
    x = (torch.tensor([[size, -size, size, -size, 0.0]] * 4) * torch.tensor([[1.0], [1.0], [-1.0], [1.0]])).to(
        precision
    )
    x.requires_grad_()
    value = loss(x, TARGETS)
    value.backward()
    assert value.isfinite()
    assert 0 <= value.item() <= 1e5
    assert x.grad is not None
    assert x.grad.isfinite().all()


@EACH
def test_no_labels_at_all(loss: nn.Module) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    value = loss(x, torch.zeros(2, 3))
    value.backward()
    assert value.isfinite()
    assert x.grad is not None


@EACH
def test_refusals(loss: nn.Module) -> None:
    for shape, other in (((0, 5), (0, 5)), ((2, 5), (5, 2)), ((5,), (5,))):
        with pytest.raises(ValueError, match="not one"):
            loss(torch.zeros(shape), torch.zeros(other))


def test_losses_by_name() -> None:
    for kind, (settings, loss) in TAG_LOSSES.items():
        chosen = read_loss_settings({"kind": kind})
        assert type(chosen) is settings
        assert type(make_loss(chosen)) is loss
    chosen = make_loss(AsymmetricSettings(gamma_negative=2))
    assert isinstance(chosen, Asymmetric)
    assert chosen.gamma_negative == 2
    with pytest.raises(SeetellError, match=r"margin is 1\.5; expected a number < 1"):
        read_loss_settings({"kind": "asymmetric", "margin": 1.5})
    with pytest.raises(SeetellError, match="there is no loss 'hinge'"):
        read_loss_settings({"kind": "hinge"})
