"""Retrieval ranks against a slow loop that sorts every query's answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seetell.errors import SeetellError
from seetell.metrics import retrieval
from seetell.metrics.retrieval import retrieval_ranks, retrieval_scores, retrieval_scores_of_blocks
from seetell.similarity import EUCLIDEAN, ORDER


def slow_ranks(scores: list[list[float]], owner: list[int]) -> tuple[list[int], list[int]]:
    """Sort all answers to a query, the wrong ones first among equals, and look for the first right one."""
    to_text = []
    for image, row in enumerate(scores):
        answers = sorted(range(len(owner)), key=lambda t: (-row[t], owner[t] == image))
        right = [place for place, t in enumerate(answers, start=1) if owner[t] == image]
        to_text.append(right[0] if right else 0)
    to_image = []
    for text, own in enumerate(owner):
        answers = sorted(range(len(scores)), key=lambda p: (-scores[p][text], p == own))
        to_image.append(answers.index(own) + 1)
    return to_text, to_image


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    """Scores with many ties; images with none, one or several captions in any order."""
    images, texts = draw(st.integers(1, 7)), draw(st.integers(1, 12))
    owner = draw(st.lists(st.integers(0, images - 1), min_size=texts, max_size=texts))
    rows = st.lists(st.integers(0, 4), min_size=texts, max_size=texts)
    return np.array(draw(st.lists(rows, min_size=images, max_size=images)), dtype=np.float32), owner


@pytest.mark.parametrize("memory", [0, 1 << 20])
@given(problem=problems())
@settings(deadline=None, max_examples=60)
def test_ranks_are_those_of_the_slow_loop(memory: int, problem: tuple[np.ndarray, list[int]]) -> None:
    scores, owner = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrieval, "MEMORY", memory)
        patch.setattr(retrieval, "_BLOCK", 8 * len(owner) * 2)  # two images at a time
        got = retrieval._ranks(
            lambda p, t: scores[np.ix_(p, t)], np.arange(len(scores)), np.arange(len(owner)), np.array(owner)
        )
    to_text, to_image = slow_ranks(scores.tolist(), owner)
    assert got[0].tolist() == [rank for rank in to_text if rank]
    assert got[1].tolist() == to_image


@pytest.mark.parametrize("similarity", [ORDER, EUCLIDEAN])
def test_ranks_of_embeddings(similarity: retrieval.Similarity) -> None:
    rng = np.random.default_rng(0)
    images, texts = rng.normal(size=(9, 4)), rng.normal(size=(20, 4))
    owner = rng.integers(0, 8, size=20).tolist()  # the ninth image has no captions
    to_text, to_image = retrieval_ranks(images, texts, owner, similarity=similarity)
    expected = slow_ranks(similarity.scores(images, texts).tolist(), owner)
    assert (to_text.tolist(), to_image.tolist()) == expected
    assert to_text[8] == 0


def test_a_worked_example() -> None:
    # ImageSource 0 finds its second caption first; image 1 finds both captions of image 0 before its own.
    scores = np.array([[0.1, 0.9, 0.5], [0.8, 0.7, 0.2]])
    found = retrieval_scores_of_blocks(lambda p, t: scores[np.ix_(p, t)], [0, 0, 1], images=2)
    assert found.as_dict()["image_to_text"] == pytest.approx(
        {"r1": 50, "r5": 100, "r10": 100, "median_rank": 2, "mean_rank": 2}
    )
    assert found.as_dict()["text_to_image"] == pytest.approx(
        {"r1": 100 / 3, "r5": 100, "r10": 100, "median_rank": 2, "mean_rank": 5 / 3}
    )
    assert found.as_dict()["sum_of_recalls"] == pytest.approx(250 + 100 / 3 + 200)
    assert found.protocol == "2 images, 3 captions"


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_a_collapsed_model_comes_last(value: float) -> None:
    owner = np.repeat(np.arange(20), 5)
    found = retrieval_scores_of_blocks(lambda p, t: np.full((len(p), len(t)), value), owner, images=20)
    assert found.sum_of_recalls == 0
    assert found.image_to_text.median_rank == 100 - 5 + 1
    assert found.text_to_image.median_rank == 20


def test_folds_are_scored_apart_and_averaged() -> None:
    rng = np.random.default_rng(1)
    owner = rng.permutation(np.repeat(np.arange(30), 3))
    images = rng.normal(size=(30, 6)).astype(np.float32)
    texts = (images[owner] + rng.normal(size=(90, 6))).astype(np.float32)
    found = retrieval_scores(images, texts, owner, folds=3)
    parts = []
    for start in (0, 10, 20):
        mine = (owner >= start) & (owner < start + 10)
        parts.append(retrieval_scores(images[start : start + 10], texts[mine], owner[mine] - start))
    assert found.sum_of_recalls == pytest.approx(np.mean([part.sum_of_recalls for part in parts]))
    assert found.text_to_image.mean_rank == pytest.approx(np.mean([part.text_to_image.mean_rank for part in parts]))
    assert found.protocol == "30 images, 90 captions, mean of 3 folds of 10 images"
    assert found.sum_of_recalls > retrieval_scores(images, texts, owner).sum_of_recalls


def test_scores_that_are_not_numbers_never_win() -> None:
    with pytest.raises(SeetellError, match="diverged"):
        retrieval_scores(np.full((3, 2), np.nan), np.ones((3, 2)), [0, 1, 2])


def test_mistakes_are_named() -> None:
    one = np.ones((2, 3))
    with pytest.raises(ValueError, match="2 texts, but 3 owners"):
        retrieval_scores(one, one, [0, 1, 1])
    with pytest.raises(ValueError, match="there are 2"):
        retrieval_scores(one, one, [0, 2])
    with pytest.raises(SeetellError, match="cannot be cut into 5 folds"):
        retrieval_scores(one, one, [0, 1], folds=5)
    with pytest.raises(SeetellError, match="no captions"):
        retrieval_scores(one, one[:0], [])
    with pytest.raises(SeetellError, match="a fold has no captions"):
        retrieval_scores(one, one, [0, 0], folds=2)
