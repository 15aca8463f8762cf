"""Similarities against plain loops, their numpy twins, and numerical gradients."""

import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from seetell import similarity as twins
from seetell.errors import SeetellError
from seetell.learn.losses import MaxOfHinges, similarity
from seetell.learn.losses.similarity import SIMILARITIES, order, similarity_by_name


def slow_cosine(image: Tensor, text: Tensor) -> float:
    dot = sum(float(i) * float(c) for i, c in zip(image, text, strict=True))
    lengths = [math.sqrt(sum(float(x) ** 2 for x in vector)) for vector in (image, text)]
    return dot / (lengths[0] * lengths[1])


def slow_order(image: Tensor, text: Tensor) -> float:
    return -sum(max(0.0, float(c) - float(i)) ** 2 for i, c in zip(image, text, strict=True))


def slow_euclidean(image: Tensor, text: Tensor) -> float:
    return -math.sqrt(sum((float(c) - float(i)) ** 2 for i, c in zip(image, text, strict=True)))


SLOW = {"cosine": slow_cosine, "order": slow_order, "euclidean": slow_euclidean}


def vectors(rows: int, dimensions: int, seed: int) -> Tensor:
    return torch.randn(rows, dimensions, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_scores_are_those_of_a_slow_loop(name: str) -> None:
    images, texts = vectors(4, 6, 1), vectors(7, 6, 2)
    scores = similarity_by_name(name)(images, texts)
    expected = [[SLOW[name](image, text) for text in texts] for image in images]
    torch.testing.assert_close(scores, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("name", SIMILARITIES)
def test_scores_equal_those_of_the_numpy_twin(name: str) -> None:
    images, texts = vectors(30, 40, 3).float(), vectors(50, 40, 4).float()
    scores = similarity_by_name(name)(images, texts)
    expected = torch.from_numpy(twins.by_name(name).scores(images.numpy(), texts.numpy()))
    torch.testing.assert_close(scores, expected, rtol=1e-5, atol=1e-5)


def test_every_twin_is_there() -> None:
    assert SIMILARITIES.keys() == twins.SIMILARITIES.keys()


@pytest.mark.parametrize("name", SIMILARITIES)
def test_gradients(name: str) -> None:
    images, texts = vectors(3, 5, 5).requires_grad_(), vectors(4, 5, 6).requires_grad_()
    assert gradcheck(similarity_by_name(name), (images, texts))


@pytest.mark.parametrize("block", [1, 40, 1 << 20], ids=["an image at a time", "some", "all at once"])
@pytest.mark.parametrize("share", [0.05, 1.0], ids=["few pairs", "all pairs"])
def test_order_gradient_is_that_of_the_whole_tensor(monkeypatch: pytest.MonkeyPatch, block: int, share: float) -> None:
    monkeypatch.setattr(similarity, "_BLOCK", block)
    images, texts = vectors(11, 3, 7).requires_grad_(), vectors(5, 3, 8).requires_grad_()
    weights = vectors(11, 5, 9) * (torch.rand(11, 5, generator=torch.Generator().manual_seed(10)) < share)
    assert weights.any()
    whole = -(texts[None] - images[:, None]).clamp(min=0).square().sum(2)
    expected = torch.autograd.grad((whole * weights).sum(), (images, texts))
    scores = order(images, texts)
    torch.testing.assert_close(scores, whole)
    torch.testing.assert_close(torch.autograd.grad((scores * weights).sum(), (images, texts)), expected)


def test_a_loss_that_looks_at_few_pairs_goes_the_sparse_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Tensor) -> tuple[Tensor, Tensor]:
        raise AssertionError("all pairs were gone through")

    monkeypatch.setattr(similarity, "_all_pairs", refuse)
    images, texts = vectors(64, 8, 11).requires_grad_(), vectors(64, 8, 12)
    MaxOfHinges(0.05)(order(images, texts), torch.eye(64)).backward()
    assert images.grad is not None
    assert images.grad.any()


@pytest.mark.parametrize("name", SIMILARITIES)
def test_mixed_precision(name: str) -> None:
    """A model in mixed precision may hand over either precision, on either side."""
    images, texts = vectors(20, 8, 13).to(torch.bfloat16).requires_grad_(), vectors(9, 8, 14).float()
    with torch.autocast("cpu", torch.bfloat16):
        scores = similarity_by_name(name)(images, texts)
        scores.sum().backward()
    expected = similarity_by_name(name)(images.detach().float(), texts)
    torch.testing.assert_close(scores.float(), expected, rtol=0.03, atol=0.03)
    assert images.grad is not None
    assert images.grad.isfinite().all()


@pytest.mark.parametrize("name", SIMILARITIES)
def test_equal_vectors_and_zeros_have_finite_gradients(name: str) -> None:
    images = torch.tensor([[0.0, 0.0], [0.6, 0.8], [0.6, 0.8]], requires_grad=True)
    texts = torch.tensor([[0.6, 0.8], [0.0, 0.0]], requires_grad=True)
    scores = similarity_by_name(name)(images, texts)
    scores.sum().backward()
    for tensor in (scores, images.grad, texts.grad):
        assert tensor is not None
        assert tensor.isfinite().all()


def test_order_is_directed_and_perfect_where_the_image_is_the_greater() -> None:
    low, high = torch.tensor([[0.1, 0.2]]), torch.tensor([[0.3, 0.2]])
    assert order(high, low).item() == 0
    assert order(low, high).item() == pytest.approx(-0.04)


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(SeetellError, match=r"manhattan.*cosine, order, euclidean"):
        similarity_by_name("manhattan")
