"""Similarities against plain loops over pairs."""

import math
import threading

import numpy as np
import pytest

from seetell import similarity
from seetell.errors import SeetellError
from seetell.util import usable_cores


def cosine(i: np.ndarray, c: np.ndarray) -> float:
    return float(sum(a * b for a, b in zip(i, c, strict=True))) / math.hypot(*i) / math.hypot(*c)


def order(i: np.ndarray, c: np.ndarray) -> float:
    return -sum(max(0.0, float(b - a)) ** 2 for a, b in zip(i, c, strict=True))


def euclidean(i: np.ndarray, c: np.ndarray) -> float:
    return -math.dist(i, c)


LOOPS = {"cosine": cosine, "order": order, "euclidean": euclidean}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("sizes", [(7, 13), (13, 7), (1, 4), (4, 1)])
def test_every_pair_is_scored_as_the_plain_formula_scores_it(name: str, kind: type, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    images, texts = (rng.normal(size=(size, 11)).astype(kind) for size in sizes)
    scores = similarity.by_name(name).scores(images, texts)
    expected = [[LOOPS[name](i, c) for c in texts] for i in images]
    assert scores.dtype == kind
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


def test_order_is_the_same_however_it_is_tiled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    images, texts = rng.normal(size=(5, 8)), rng.normal(size=(23, 8))
    whole, turned = similarity.ORDER.scores(images, texts), similarity.ORDER.scores(texts, images)
    monkeypatch.setattr(similarity, "_TILE", 30)  # three at a time, the last tile shorter
    np.testing.assert_allclose(similarity.ORDER.scores(images, texts), whole)
    np.testing.assert_allclose(similarity.ORDER.scores(texts, images), turned)


def test_a_caption_that_its_image_contains_has_no_order_error() -> None:
    image, caption = np.array([[0.5, 0.9, 0.2]]), np.array([[0.1, 0.9, 0.0]])
    assert similarity.ORDER.scores(image, caption)[0, 0] == 0
    assert similarity.ORDER.scores(caption, image)[0, 0] == pytest.approx(-(0.4**2) - 0.2**2)
    assert not similarity.ORDER.symmetric


@pytest.mark.parametrize("name", LOOPS)
def test_bigger_means_more_alike(name: str) -> None:
    image = np.array([[0.6, 0.8]])
    near, far = similarity.by_name(name).scores(image, np.array([[0.65, 0.78], [1.0, -0.5]]))[0]
    assert near > far


def test_vectors_of_zeros_are_like_nothing() -> None:
    scores = similarity.COSINE.scores(np.zeros((1, 3), np.float32), np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(scores, [[0, 0]])


def test_close_vectors_keep_their_distance_in_single_precision() -> None:
    image = np.full((1, 512), 10, np.float32)
    text = image.copy()
    text[0, 0] += 1e-3
    assert similarity.EUCLIDEAN.scores(image, text)[0, 0] == pytest.approx(-1e-3, rel=1e-2)


def test_mistakes_are_named() -> None:
    with pytest.raises(SeetellError, match=r"no similarity called 'angle'.*cosine, order, euclidean"):
        similarity.by_name("angle")
    with pytest.raises(ValueError, match="equally long"):
        similarity.COSINE.scores(np.ones((2, 3)), np.ones((2, 4)))


@pytest.mark.parametrize("name", LOOPS)
def test_what_is_not_a_number_stays_so(name: str) -> None:
    assert np.isnan(similarity.by_name(name).scores(np.full((1, 3), np.nan), np.ones((1, 3))))[0, 0]


class Embedded:
    """What a retriever returns."""

    def __init__(self, vector: list[float]) -> None:
        self.vector = np.array(vector, np.float32)


@pytest.mark.parametrize("name", LOOPS)
def test_embeddings_are_scored_like_arrays(name: str) -> None:
    rows = [[0.5, 1.0], [2.0, -1.0], [0.25, 0.0]]
    table, kind = np.array(rows, np.float32), similarity.by_name(name)
    embedded = [Embedded(row) for row in rows]
    for images in (embedded, tuple(embedded), iter(embedded), list(table)):
        np.testing.assert_array_equal(kind.scores(images, table), kind.scores(table, table))
    np.testing.assert_array_equal(kind.scores(embedded[0], embedded), kind.scores(table[:1], table))
    assert kind.scores(table, []).shape == (3, 0)
    assert kind.scores([], embedded).shape == (0, 3)
    with pytest.raises(ValueError, match="equally long"):
        kind.scores(embedded, [Embedded([1.0])])


def test_order_shares_one_small_pool_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_TILE", 30)
    images, texts = np.ones((5, 8)), np.ones((200, 8))
    for _ in range(20):
        similarity.ORDER.scores(images, texts)
    running = [thread for thread in threading.enumerate() if thread.name.startswith("similarity")]
    assert len(running) <= usable_cores()
