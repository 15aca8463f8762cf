"""The probability that an image is what was searched for.

**From the embedding.** A similarity s means little by itself: 0.4 is a low value for one model and certainty for
another, and a short query is closer to everything than a long one. What counts is s together with how far it stands out
among the scores that the same query gets from the whole library, z = (s − mean) / deviation. The odds of a match are

    log odds = a·s + b·z + c + log(π / (1 − π))

where a, b and c are a logistic regression between matching and other pairs, weighted as if both were equally frequent,
and π is the frequency of matches. All four are fitted in the library itself, on pairs that can be judged by their
words: the text of each image (a person's if there is one, else the model's caption) is a query that the image matches;
images whose texts share most words with it match it as well; those that share some are left out as uncertain; the
others do not match. π is the share of matches among all pairs. A library with fewer than `MIN_TEXTS` texts uses
`DEFAULT`.

**From the words.** If all content words of the query are among the words of the image, it matches with probability
`WRITTEN` where people wrote them, and `GENERATED` where the model did; if only a share of them is, with that
probability times the cube of the share.

The two are combined as independent evidence: 1 − (1 − p)(1 − q). Words that the model does not know are not part of
its embedding, so p is multiplied by the square of the share of known words: a query of unknown words can only be
matched by words.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

WRITTEN, GENERATED = 0.9, 0.5
MIN_TEXTS = 50
SAMPLE = 400  # texts that are compared with as many images
SAME, UNRELATED = 0.6, 0.2  # shares of common words (Jaccard) from which on, and below which
_RIDGE = 1e-4


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns a similarity into a probability.

    Args:
        similarity: the weight a of the similarity.
        outstanding: the weight b of the standardised similarity z.
        constant: c.
        prior: the frequency π of matches.
        how: "default", "library" (fitted to its own texts), or "judged" (fitted to a person's judgements).
        pairs: how many pairs it was fitted to.

    Example:
        >>> DEFAULT.probability(np.array([0.0, 3.0]), 0.0, 1.0).round(3).tolist()
        [0.001, 0.5]
    """

    similarity: float
    outstanding: float
    constant: float
    prior: float
    how: str = "default"
    pairs: int = 0

    def probability(self, scores: Values, mean: float, deviation: float) -> Values:
        """The probabilities of a query's scores, given the mean and deviation of all scores of that query."""
        z = standardised(scores, mean, deviation)
        odds = self.similarity * scores + self.outstanding * z + self.constant
        return sigmoid(odds + np.log(self.prior / (1 - self.prior)))

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**row)


# By z alone, so that it holds for any model: one half at three deviations above the mean.
DEFAULT = Calibration(0.0, 2.5, -7.5 + float(np.log(99)), 0.01)


def standardised(scores: Values, mean: float, deviation: float) -> Values:
    """z; all zeros where all images score the same."""
    found: Values = (np.asarray(scores, np.float64) - mean) / deviation if deviation > 1e-9 else np.zeros(len(scores))
    return found


def fit(s: Values, z: Values, matches: NDArray[np.bool_], how: str = "library") -> Calibration:
    """Fit a calibration to pairs with similarities s and standardised similarities z.

    Newton's method on the ridge-penalised likelihood. For a library's own pairs both classes weigh the same, and their
    frequencies become the prior; a person's judgements keep their frequencies. A negative slope is set to zero: there
    were too few pairs, or the model knows nothing.
    """
    y = matches.astype(np.float64)
    positives, negatives = y.sum(), (1 - y).sum()
    if min(positives, negatives) < (MIN_TEXTS / 2 if how == "library" else 1):
        return DEFAULT
    balanced = how == "library"
    weights = np.where(y > 0, 0.5 / positives, 0.5 / negatives) if balanced else np.full(len(y), 1 / len(y))
    # Standardised, so that one penalty suits both.
    centre, scale, width = float(s.mean()), float(s.std()) or 1.0, float(z.std()) or 1.0
    table = np.stack([(s - centre) / scale, z / width, np.ones(len(y))], axis=1)
    for columns in ([0, 1, 2], [1, 2], [0, 2], [2]):
        w = np.zeros(3)
        w[columns] = _newton(table[:, columns], y, weights)
        if (w[:2] >= 0).all():
            break
    prior = float(np.clip(positives / len(y), 1e-6, 0.5)) if balanced else 0.5
    a, b = float(w[0]) / scale, float(w[1]) / width
    return Calibration(a, b, float(w[2]) - a * centre, prior, how, len(y))


def _newton(table: Values, y: Values, weights: Values) -> Values:
    penalty = _RIDGE * np.eye(table.shape[1])
    penalty[-1, -1] = 1e-9  # the constant is not penalised
    w = np.zeros(table.shape[1])
    for _ in range(100):
        p = sigmoid(table @ w)
        gradient = table.T @ (weights * (p - y)) + penalty @ w
        curvature = (table * (weights * p * (1 - p))[:, None]).T @ table + penalty
        step = np.linalg.solve(curvature, gradient)
        w -= step * min(1.0, 2.0 / (np.abs(step).max() + 1e-12))  # far from the solution, a whole step may diverge
        if np.abs(step).max() < 1e-8:
            break
    return w


def judge_by_words(texts: Sequence[frozenset[str]]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which texts match which images, and which pairs are certain enough to count, by the words they share."""
    words = {word: index for index, word in enumerate(sorted(set().union(*texts)))}
    table = np.zeros((len(texts), len(words)), np.float32)
    for row, text in enumerate(texts):
        table[row, [words[word] for word in text]] = 1
    common = table @ table.T
    sizes = table.sum(1)
    share = common / np.maximum(1, sizes[:, None] + sizes[None, :] - common)
    matching = share >= SAME
    np.fill_diagonal(matching, True)
    return matching, matching | (share < UNRELATED)


def by_words(share_written: float, share_any: float) -> float:
    """The probability of a match, from the shares of the query's words that people, and that anybody, used."""
    return max(WRITTEN * share_written**3, GENERATED * share_any**3)


def combined(p: Values, q: Values) -> Values:
    """Two probabilities as independent evidence."""
    found: Values = 1 - (1 - p) * (1 - q)
    return found


def sigmoid(values: Values) -> Values:
    found: Values = 1 / (1 + np.exp(-np.clip(values, -60, 60)))
    return found
