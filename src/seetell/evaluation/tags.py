"""Where a tagger is good and where it fails (Ren, section 5.3): by number of labels, by label, by example, and what it
makes of labels that come together.

Tables of what is true and what was told are of booleans, (images, labels).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seetell.metrics.labels import LabelCountScores, scores_by_class, scores_by_label_count

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LabelReport:
    """How well one label was found; in per cent, None without an image that has it."""

    label: str
    images: int  # that have it
    told: int  # for which it was told
    precision: float
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True)
class Company:
    """Two labels: of the images with the first, the share that has the second, too, in per cent."""

    first: str
    second: str
    in_data: float
    told: float


@dataclass(frozen=True, slots=True)
class TagAnalysis:
    """Args:
    by_count: scores of the images with so many labels (Figure 7).
    by_label: the best F1 first; labels that no image has come last (Figure 8).
    perfect: images of which all labels were told and nothing else, those with most labels first (Table 4).
    wrong: images of which labels were told, none of them right, those with most mistakes first (Table 5).
    company: every pair whose first label is frequent enough in both tables, the most frequent in data first.
    correlation: of the two shares over those pairs, between −1 and 1; None where there are too few to say.
    """

    images: int
    by_count: dict[int, LabelCountScores]
    by_label: list[LabelReport]
    perfect: list[int]
    wrong: list[int]
    company: list[Company]
    correlation: float | None


def analyse(truth: Booleans, told: Booleans, labels: Sequence[str], *, least: int = 10) -> TagAnalysis:
    """Look at what was told beside what is true.

    Args:
        labels: the columns' names.
        least: labels that fewer images have, or were told for, say nothing about the company that they keep.
    """
    company = label_company(truth, told, labels, least=least)
    shares = np.array([[pair.in_data, pair.told] for pair in company]).reshape(-1, 2)
    varies = len(shares) > 2 and (shares.std(0) > 0).all()
    hits, extra = (truth & told).sum(1), told.sum(1)
    perfect = np.flatnonzero((truth == told).all(1) & (extra > 0))
    wrong = np.flatnonzero((hits == 0) & (extra > 0))
    return TagAnalysis(
        len(truth),
        scores_by_label_count(truth, told),
        _by_label(truth, told, labels),
        perfect[np.argsort(-extra[perfect], kind="stable")].tolist(),
        wrong[np.argsort(-(extra + truth.sum(1))[wrong], kind="stable")].tolist(),
        company,
        float(np.corrcoef(shares.T)[0, 1]) if varies else None,
    )


def label_company(truth: Booleans, told: Booleans, labels: Sequence[str], *, least: int = 10) -> list[Company]:
    """How often labels come together in data, and how often they were told together."""
    counts = [(table.T.astype(np.int64) @ table) for table in (truth, told)]  # (labels, labels): images with both
    frequent = np.flatnonzero(np.minimum(*(np.diag(count) for count in counts)) >= least)
    found = [
        Company(labels[i], labels[j], *(100 * float(count[i, j] / count[i, i]) for count in counts))
        for i in frequent.tolist()
        for j in range(len(labels))
        if i != j and (counts[0][j, j] or counts[1][j, j])
    ]
    return sorted(found, key=lambda pair: (-pair.in_data, pair.first, pair.second))


def _by_label(truth: Booleans, told: Booleans, labels: Sequence[str]) -> list[LabelReport]:
    scores = scores_by_class(truth, told)
    reports = [
        LabelReport(
            label,
            int(scores.positives[place]),
            int(scores.predicted[place]),
            float(scores.precision[place]),
            float(scores.recall[place]) if scores.positives[place] else None,
            float(scores.f1[place]) if scores.positives[place] else None,
        )
        for place, label in enumerate(labels)
    ]
    return sorted(reports, key=lambda report: (report.f1 is None, -(report.f1 or 0.0), report.label))
