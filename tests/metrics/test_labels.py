"""Multi-label scores against plain loops and worked examples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seetell.metrics.labels import (
    average_precision,
    label_scores,
    mean_average_precision,
    scores_by_class,
    scores_by_label_count,
    top_labels,
)


def ratio(up: float, down: float) -> float:
    return up / down if down else 0.0


def harmonic(p: float, r: float) -> float:
    return ratio(2 * p * r, p + r)


def slow_scores(truth: list[set[int]], predicted: list[set[int]], classes: int) -> dict[str, float]:
    """The definitions, sample by sample and class by class."""
    p, r, f = [], [], []
    for true, guess in zip(truth, predicted, strict=True):
        if not true and not guess:
            p, r, f = [*p, 1.0], [*r, 1.0], [*f, 1.0]
            continue
        p.append(ratio(len(true & guess), len(guess)))
        r.append(ratio(len(true & guess), len(true)))
        f.append(harmonic(p[-1], r[-1]))
    cp, cr = [], []
    for c in range(classes):
        positives = sum(c in true for true in truth)
        hits = sum(c in true & guess for true, guess in zip(truth, predicted, strict=True))
        if positives:
            cp.append(ratio(hits, sum(c in guess for guess in predicted)))
            cr.append(hits / positives)
    hits = sum(len(true & guess) for true, guess in zip(truth, predicted, strict=True))
    mean = lambda values: ratio(sum(values), len(values))  # noqa: E731
    op, orr = ratio(hits, sum(map(len, predicted))), ratio(hits, sum(map(len, truth)))
    found = {"precision": mean(p), "recall": mean(r), "f1_of_means": harmonic(mean(p), mean(r)), "f1": mean(f)}
    found |= {"c_precision": mean(cp), "c_recall": mean(cr), "c_f1": harmonic(mean(cp), mean(cr))}
    found |= {"o_precision": op, "o_recall": orr, "o_f1": harmonic(op, orr)}
    return {name: 100 * value for name, value in found.items()}


def slow_average_precision(truth: list[bool], scores: list[float]) -> float:
    """The sum over thresholds of the precision there, times the recall gained since the last one."""
    total, recall = 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        passed = [true for true, score in zip(truth, scores, strict=True) if score >= threshold]
        total += (sum(passed) / sum(truth) - recall) * sum(passed) / len(passed)
        recall = sum(passed) / sum(truth)
    return 100 * total


def table(labels: list[set[int]], classes: int) -> np.ndarray:
    return np.array([[c in some for c in range(classes)] for some in labels])


LABELS = st.lists(st.tuples(st.sets(st.integers(0, 4)), st.sets(st.integers(0, 4))), min_size=1, max_size=8)


@given(LABELS)
def test_every_score_is_that_of_the_loop(pairs: list[tuple[set[int], set[int]]]) -> None:
    truth, predicted = [true for true, _ in pairs], [guess for _, guess in pairs]
    found = label_scores(table(truth, 5), table(predicted, 5))
    assert found == pytest.approx(slow_scores(truth, predicted, 5))


def test_a_worked_example() -> None:
    truth = [{0, 1}, {2}]
    predicted = [{0, 2}, {2}]
    found = label_scores(table(truth, 4), table(predicted, 4))
    # Samples: P, R and F1 1/2 and 1. Classes 0, 1, 2: P 1, 0, 1/2 and R 1, 0, 1. Overall: 2 of 3 both ways.
    assert found["precision"] == found["recall"] == found["f1_of_means"] == found["f1"] == pytest.approx(75)
    assert (found["c_precision"], found["c_recall"]) == pytest.approx((50, 200 / 3))
    assert found["c_f1"] == pytest.approx(2 * 50 * (200 / 3) / (50 + 200 / 3))
    assert found["o_f1"] == pytest.approx(200 / 3)


def test_f1_of_means_is_not_the_mean_f1() -> None:
    truth, predicted = [{0, 1, 2, 3}, {0}], [{0}, {0, 1, 2, 3}]
    found = label_scores(table(truth, 4), table(predicted, 4))
    assert found["f1_of_means"] == pytest.approx(62.5)  # P = R = (1 + 1/4) / 2
    assert found["f1"] == pytest.approx(40)  # both samples: 2 · 1/4 / (1 + 1/4)


def test_empty_truth_and_empty_predictions() -> None:
    truth, predicted = [set(), set(), {0}], [set(), {1}, set()]
    found = label_scores(table(truth, 2), table(predicted, 2))
    assert found["precision"] == found["recall"] == found["f1"] == pytest.approx(100 / 3)
    assert found["c_recall"] == found["o_f1"] == 0


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=1, max_size=12).filter(
        lambda s: any(t for t, _ in s)
    )
)
def test_average_precision_is_that_of_the_loop(samples: list[tuple[bool, int]]) -> None:
    truth, scores = [true for true, _ in samples], [float(score) for _, score in samples]
    assert average_precision(np.array(truth), np.array(scores)) == pytest.approx(slow_average_precision(truth, scores))


def test_map_leaves_out_classes_without_positives() -> None:
    truth = np.array([[1, 0, 0], [0, 1, 0]], dtype=bool)
    scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.3, 0.9]])
    assert mean_average_precision(truth, scores) == pytest.approx((100 + 50) / 2)
    assert label_scores(truth, scores > 0.5, scores)["map"] == pytest.approx(75)


def test_top_three() -> None:
    scores = np.array([[0.1, 0.4, 0.3, 0.2, 0.0], [0.5, 0.5, 0.5, 0.5, 0.1], [-np.inf, 0.2, -np.inf, -np.inf, 0.1]])
    chosen = [np.flatnonzero(row).tolist() for row in top_labels(scores, 3)]
    assert chosen == [[1, 2, 3], [0, 1, 2], [1, 4]]
    truth = table([{1, 2, 3}, {3}, {1, 4}], 5)
    found = label_scores(truth, truth, scores)
    expected = slow_scores([{1, 2, 3}, {3}, {1, 4}], [{1, 2, 3}, {0, 1, 2}, {1, 4}], 5)
    assert {name: found[f"{name}_top3"] for name in expected} == pytest.approx(expected)
    assert found["f1"] == 100


def test_scores_by_label_count() -> None:
    truth, predicted = [{0}, {1}, {0, 1}], [{0}, {2}, {0, 2}]
    found = scores_by_label_count(table(truth, 3), table(predicted, 3))
    assert list(found) == [1, 2]
    assert (found[1].samples, found[1].f1_of_means) == (2, pytest.approx(50))
    assert (found[2].samples, found[2].precision, found[2].f1) == (1, pytest.approx(50), pytest.approx(50))


def test_scores_by_class() -> None:
    truth, predicted = [{0}, {0, 1}, set()], [{0, 2}, {1}, set()]
    found = scores_by_class(table(truth, 4), table(predicted, 4))
    assert found.positives.tolist() == [2, 1, 0, 0]
    assert found.precision.tolist() == [100, 100, 0, 0]
    assert found.recall[:2].tolist() == [50, 100]
    assert found.f1[:2] == pytest.approx([200 / 3, 100])
    assert all(map(math.isnan, found.f1[2:]))


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="the same shape"):
        label_scores(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="non-empty tables"):
        label_scores(np.ones((0, 3)), np.ones((0, 3)))
    with pytest.raises(ValueError, match="not numbers"):
        mean_average_precision(np.ones((1, 1)), np.full((1, 1), np.nan))
    with pytest.raises(ValueError, match="no class has a positive"):
        mean_average_precision(np.zeros((1, 1)), np.ones((1, 1)))
