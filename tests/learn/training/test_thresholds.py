"""Thresholds of classifiers, beside slow searches."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from seetell.learn.tasks.tagging.thresholds import by_image, by_label
from seetell.metrics.labels import label_scores


def noisy(images: int = 400) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    random = np.random.default_rng(0)
    truth = random.random((images, 5)) < np.array([0.5, 0.3, 0.2, 0.1, 0.05])
    return truth, 2.0 * truth + random.standard_normal(truth.shape) + np.array([0, 1, -1, 2, 0.5])


def test_thresholds_without_prior_give_each_label_its_best_f1() -> None:
    truth, logits = noisy()
    chosen = logits > by_label(truth, logits, prior=0.0)
    for label in range(5):
        cuts = np.quantile(logits[:, label], np.linspace(0, 1, 200))
        best = max(f1_score(truth[:, label], logits[:, label] > cut, zero_division=0.0) for cut in cuts)
        assert f1_score(truth[:, label], chosen[:, label]) > best - 0.02


def test_thresholds_with_a_strong_prior_are_one_for_all() -> None:
    truth, logits = noisy()
    assert np.ptp(by_label(truth, logits, prior=1e9)) == 0
    alone, together = by_label(truth, logits, prior=0.0), by_label(truth, logits)
    common = by_label(truth, logits, prior=1e9)
    assert (np.abs(together - common) <= np.abs(alone - common) + 1e-9).all()
    assert np.isfinite(by_label(np.zeros_like(truth), logits)).all()


def f1_of_means(truth: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> float:
    return label_scores(truth, chosen)["f1_of_means"]


def test_thresholds_by_image_cannot_be_bettered_one_at_a_time() -> None:
    truth, logits = noisy()
    truth[~truth.any(1), 0] = True
    fitted = by_image(truth, logits, sweeps=10)
    best = f1_of_means(truth, logits > fitted)
    assert best > f1_of_means(truth, logits > by_label(truth, logits, prior=1e9)) + 1
    for label in range(5):
        share = truth[:, label].mean()
        for cut in np.quantile(logits[:, label], np.linspace(max(0, 1 - 4 * share), 1 - 0.15 * share, 60)):
            other = fitted.copy()
            other[label] = cut
            assert f1_of_means(truth, logits > other) < best + 0.3  # thirty candidates, not all


def test_thresholds_by_image_of_labels_that_are_told_apart() -> None:
    truth, _ = noisy(100)
    truth[~truth.any(1), 0] = True
    logits = np.where(truth, 1.0, -1.0) + np.array([0, 10, -10, 3, 5])
    assert f1_of_means(truth, logits > by_image(truth, logits)) == 100
