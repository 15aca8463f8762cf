"""Where a tagger is good and where it fails (Ren, section 5.3): by number of labels, by label, by example, and by
co-occurrence of labels.

Truth and predictions are tables of booleans, (images, labels).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seetell.metrics.labels import LabelCountScores, scores_by_class, scores_by_label_count

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LabelReport:
    """The scores of one label as percentages; None if no image has the label.

    Args:
        images: how many images have it.
        predicted: for how many images it was predicted.
    """

    label: str
    images: int
    predicted: int
    precision: float
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True)
class LabelPair:
    """Two labels: the percentage of the images with the first that also have the second."""

    first: str
    second: str
    in_data: float
    in_predictions: float


@dataclass(frozen=True, slots=True)
class TagAnalysis:
    """The analysis of a tagger's predictions.

    Args:
        images: how many images there are.
        by_count: scores by the number of true labels (Figure 7).
        by_label: the best F1 first; labels that no image has come last (Figure 8).
        perfect: images with exactly the right labels, those with most labels first (Table 4).
        wrong: images with only wrong labels, those with most mistakes first (Table 5).
        pairs: every pair whose first label is frequent enough in both tables, the most frequent in the data first.
        correlation: of the two shares over those pairs, from −1 to 1; None if there are too few pairs.
    """

    images: int
    by_count: dict[int, LabelCountScores]
    by_label: list[LabelReport]
    perfect: list[int]
    wrong: list[int]
    pairs: list[LabelPair]
    correlation: float | None


def analyse(truth: Booleans, predicted: Booleans, labels: Sequence[str], *, least: int = 10) -> TagAnalysis:
    """Compare predictions with the truth.

    Args:
        truth: the true labels, (images, labels).
        predicted: the predicted labels, likewise.
        labels: the names of the columns.
        least: labels of fewer images, in either table, are left out of `pairs`.
    """
    pairs = label_pairs(truth, predicted, labels, least=least)
    shares = np.array([[pair.in_data, pair.in_predictions] for pair in pairs]).reshape(-1, 2)
    varies = len(shares) > 2 and (shares.std(0) > 0).all()
    hits, extra = (truth & predicted).sum(1), predicted.sum(1)
    perfect = np.flatnonzero((truth == predicted).all(1) & (extra > 0))
    wrong = np.flatnonzero((hits == 0) & (extra > 0))
    return TagAnalysis(
        len(truth),
        scores_by_label_count(truth, predicted),
        _by_label(truth, predicted, labels),
        perfect[np.argsort(-extra[perfect], kind="stable")].tolist(),
        wrong[np.argsort(-(extra + truth.sum(1))[wrong], kind="stable")].tolist(),
        pairs,
        float(np.corrcoef(shares.T)[0, 1]) if varies else None,
    )


def label_pairs(truth: Booleans, predicted: Booleans, labels: Sequence[str], *, least: int = 10) -> list[LabelPair]:
    """How often labels occur together in the data and in the predictions."""
    counts = [(table.T.astype(np.int64) @ table) for table in (truth, predicted)]  # (labels, labels): images with both
    frequent = np.flatnonzero(np.minimum(*(np.diag(count) for count in counts)) >= least)
    found = [
        LabelPair(labels[i], labels[j], *(100 * float(count[i, j] / count[i, i]) for count in counts))
        for i in frequent.tolist()
        for j in range(len(labels))
        if i != j and (counts[0][j, j] or counts[1][j, j])
    ]
    return sorted(found, key=lambda pair: (-pair.in_data, pair.first, pair.second))


def _by_label(truth: Booleans, predicted: Booleans, labels: Sequence[str]) -> list[LabelReport]:
    scores = scores_by_class(truth, predicted)
    reports = [
        LabelReport(
            label,
            int(scores.positives[index]),
            int(scores.predicted[index]),
            float(scores.precision[index]),
            float(scores.recall[index]) if scores.positives[index] else None,
            float(scores.f1[index]) if scores.positives[index] else None,
        )
        for index, label in enumerate(labels)
    ]
    return sorted(reports, key=lambda report: (report.f1 is None, -(report.f1 or 0.0), report.label))
