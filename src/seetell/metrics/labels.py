"""Multi-label scores: by sample, by class, overall; top three; mean average precision.

`truth` and `predicted` are tables (samples, classes) of booleans, `scores` one of numbers that are higher the more
confident the model is. All results are percentages. Conventions for what is otherwise undefined:

- A sample without true labels is right exactly when nothing is predicted for it (precision, recall and F1 are 100),
  and wrong otherwise (all 0). A sample with true labels for which nothing is predicted has 0 everywhere.
- A class without positives is left out of `map` and of the means over classes (`c_…`). A class that is never
  predicted has precision 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Scores = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class LabelCountScores:
    """Scores of the samples with a certain number of true labels."""

    samples: int
    precision: float
    recall: float
    f1_of_means: float
    f1: float


@dataclass(frozen=True, slots=True)
class ClassScores:
    """Scores of each class as percentages; `recall` and `f1` are NaN for classes without positives."""

    positives: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    precision: Floats
    recall: Floats
    f1: Floats


def label_scores(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, scores: npt.ArrayLike | None = None
) -> dict[str, float]:
    """All scores of a set of predicted labels, as percentages.

    - `precision`, `recall`: means over samples; `f1_of_means` = 2PR / (P + R) of those two (what Ren's Table 3 prints);
      `f1`: mean of the samples' own F1.
    - `c_precision`, `c_recall`: means over classes, and `c_f1` = 2PR / (P + R) of those two; `o_precision`, `o_recall`,
      `o_f1`: over all decisions. Wang et al., *CNN-RNN* (2016).
    - With `scores` also `map`, and all of the above for each sample's three highest-scored classes, under names that
      end in `_top3`.

    Args:
        truth: the true labels, (samples, classes).
        predicted: the predicted labels, likewise.
        scores: the confidence in each label, likewise.

    Example:
        >>> truth = [[1, 0, 1], [0, 1, 0]]
        >>> predicted = [[1, 0, 0], [0, 1, 0]]
        >>> found = label_scores(truth, predicted, [[0.9, 0.2, 0.4], [0.1, 0.7, 0.3]])
        >>> found["precision"], found["recall"], found["map"]
        (100.0, 75.0, 100.0)
    """
    true, guess = _tables(truth, predicted)
    found = _decisions(true, guess)
    if scores is not None:
        found["map"] = mean_average_precision(true, scores)
        found |= {f"{name}_top3": value for name, value in _decisions(true, top_labels(scores, 3)).items()}
    return found


def top_labels(scores: npt.ArrayLike, k: int) -> Booleans:
    """Each sample's `k` highest-scored classes, the first of equals; a class scored −∞ is never one.

    Args:
        scores: (samples, classes).
        k: how many classes per sample.

    Example:
        >>> top_labels([[0.9, 0.2, 0.4]], 2)
        array([[ True, False,  True]])
    """
    confidence = np.asarray(scores)
    best = np.argsort(-confidence, axis=1, kind="stable")[:, :k]
    chosen = np.zeros(confidence.shape, dtype=bool)
    np.put_along_axis(chosen, best, True, axis=1)
    return chosen & (confidence > -np.inf)


def mean_average_precision(truth: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """The mean of `average_precision` over classes with positives, as a percentage.

    Args:
        truth: the true labels, (samples, classes).
        scores: the confidence in each label, likewise.
    """
    true, confidence = np.asarray(truth, dtype=bool), np.asarray(scores)
    if true.shape != confidence.shape:
        raise ValueError(f"truth {true.shape} and scores {confidence.shape} have different shapes")
    if np.isnan(confidence).any():
        raise ValueError("some scores are not numbers")
    with_positives = np.flatnonzero(true.any(axis=0))
    if not len(with_positives):
        raise ValueError("no class has a positive sample")
    return float(np.mean([average_precision(true[:, c], confidence[:, c]) for c in with_positives]))


def average_precision(truth: Booleans, scores: Scores) -> float:
    """Σ (Rₙ − Rₙ₋₁) Pₙ over the thresholds n, as a percentage; samples with equal scores pass a threshold together."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(truth[order])
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))  # of each run of equal scores
    return 100 * float(np.sum(np.diff(right[last], prepend=0) * right[last] / (last + 1)) / right[-1])


def scores_by_label_count(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> dict[int, LabelCountScores]:
    """Scores by the number of true labels (Ren, Figure 7).

    Args:
        truth: the true labels, (samples, classes).
        predicted: the predicted labels, likewise.

    Example:
        >>> truth = [[1, 0, 1], [0, 1, 0]]
        >>> predicted = [[1, 0, 0], [0, 1, 0]]
        >>> {count: scores.recall for count, scores in scores_by_label_count(truth, predicted).items()}
        {1: 100.0, 2: 50.0}
    """
    true, guess = _tables(truth, predicted)
    counts = true.sum(axis=1)
    return {int(n): _of_samples(true[counts == n], guess[counts == n]) for n in np.unique(counts)}


def scores_by_class(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> ClassScores:
    """Precision, recall and F1 of every class (Ren, Figure 8).

    Args:
        truth: the true labels, (samples, classes).
        predicted: the predicted labels, likewise.

    Example:
        >>> truth = [[1, 0, 1], [0, 1, 0]]
        >>> predicted = [[1, 0, 0], [0, 1, 0]]
        >>> scores_by_class(truth, predicted).recall
        array([100., 100.,   0.])
    """
    true, guess = _tables(truth, predicted)
    hits, positives, guesses = (true & guess).sum(axis=0), true.sum(axis=0), guess.sum(axis=0)
    with np.errstate(invalid="ignore"):
        recall, f1 = 100 * hits / positives, 100 * 2 * hits / (positives + guesses)
    f1[positives == 0] = np.nan
    return ClassScores(positives, guesses, 100 * hits / np.maximum(1, guesses), recall, f1)


def _decisions(true: Booleans, guess: Booleans) -> dict[str, float]:
    sample, by_class = _of_samples(true, guess), scores_by_class(true, guess)
    asked = by_class.positives > 0
    c_precision = float(np.mean(by_class.precision[asked])) if asked.any() else 0.0
    c_recall = float(np.mean(by_class.recall[asked])) if asked.any() else 0.0
    hits = int((true & guess).sum())
    o_precision, o_recall = 100 * hits / max(1, int(guess.sum())), 100 * hits / max(1, int(true.sum()))
    return {
        "precision": sample.precision,
        "recall": sample.recall,
        "f1_of_means": sample.f1_of_means,
        "f1": sample.f1,
        "c_precision": c_precision,
        "c_recall": c_recall,
        "c_f1": _f1(c_precision, c_recall),
        "o_precision": o_precision,
        "o_recall": o_recall,
        "o_f1": _f1(o_precision, o_recall),
    }


def _of_samples(true: Booleans, guess: Booleans) -> LabelCountScores:
    hits, labels, guesses = (true & guess).sum(axis=1), true.sum(axis=1), guess.sum(axis=1)
    rightly_empty = labels + guesses == 0
    precision, recall, f1 = (
        100 * float(np.mean(np.where(rightly_empty, 1, up / np.maximum(1, down))))
        for up, down in ((hits, guesses), (hits, labels), (2 * hits, labels + guesses))
    )
    return LabelCountScores(len(true), precision, recall, _f1(precision, recall), f1)


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _tables(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Booleans, Booleans]:
    true, guess = np.asarray(truth, dtype=bool), np.asarray(predicted, dtype=bool)
    if true.ndim != 2 or true.shape != guess.shape or not len(true):
        raise ValueError(f"truth {true.shape} and predictions {guess.shape} are not non-empty tables of the same shape")
    return true, guess
