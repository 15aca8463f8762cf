"""Multi-label scores against scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from seetell.metrics.labels import label_scores, scores_by_class, top_labels


@pytest.fixture(params=range(3))
def problem(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """Truth and scores; every sample has a label, classes 8 and 9 have no positives."""
    rng = np.random.default_rng(request.param)
    truth = rng.random((300, 10)) < np.linspace(0.6, 0.02, 10)
    truth[:, 8:] = False
    truth[~truth.any(axis=1), 0] = True
    scores = np.round(truth + rng.normal(size=truth.shape), 1)  # ties
    return truth, scores


@pytest.mark.parametrize("ending", ["", "_top3"])
def test_samples_classes_and_overall(problem: tuple[np.ndarray, np.ndarray], ending: str) -> None:
    truth, scores = problem
    predicted = top_labels(scores, 3) if ending else scores > 0.5
    found = label_scores(truth, scores > 0.5, scores)

    def theirs(average: str, **options: list[int]) -> list[float]:
        return [
            100 * x
            for x in precision_recall_fscore_support(truth, predicted, average=average, zero_division=0, **options)[:3]
        ]

    assert [found[name + ending] for name in ("precision", "recall", "f1")] == pytest.approx(theirs("samples"))
    assert [found[f"o_{name}{ending}"] for name in ("precision", "recall", "f1")] == pytest.approx(theirs("micro"))
    asked = np.flatnonzero(truth.any(axis=0)).tolist()
    assert [found[f"c_{name}{ending}"] for name in ("precision", "recall")] == pytest.approx(
        theirs("macro", labels=asked)[:2]
    )


def test_every_class(problem: tuple[np.ndarray, np.ndarray]) -> None:
    truth, scores = problem
    found = scores_by_class(truth, scores > 0.5)
    precision, recall, f1, positives = precision_recall_fscore_support(
        truth, scores > 0.5, average=None, zero_division=0
    )
    np.testing.assert_array_equal(found.positives, positives)
    np.testing.assert_allclose(found.precision, 100 * precision)
    np.testing.assert_allclose(found.recall[:8], 100 * recall[:8])
    np.testing.assert_allclose(found.f1[:8], 100 * f1[:8])
    assert np.isnan(found.f1[8:]).all()


def test_mean_average_precision(problem: tuple[np.ndarray, np.ndarray]) -> None:
    truth, scores = problem
    theirs = average_precision_score(truth[:, :8], scores[:, :8], average="macro")
    assert label_scores(truth, scores > 0.5, scores)["map"] == pytest.approx(100 * theirs)
