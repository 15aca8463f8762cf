"""How likely it is that an image is what was asked for.

**By embedding.** A similarity s means little by itself: one model's 0.4 is another's certainty, and a short question
lies closer to everything than a long one. What tells is s together with how far it stands out among the scores that
the same question gets from the whole library, z = (s − mean) / deviation. The odds that a pair matches are

    log odds = a·s + b·z + c + log(π / (1 − π))

a, b and c are a logistic regression that tells matching pairs from others as if both were equally frequent, and π is
how frequent matches are. All four are fitted in the library itself, on pairs it can judge by words: each image's own
text (a person's if there is one, else the model's caption) is a question that the image answers; images whose texts
share most words with it answer it, too; those that share some are left out as uncertain; the rest do not. π is the share
of answers among all pairs. A library of fewer than `ENOUGH` texts takes `DEFAULT`.

**By words.** If all words of the question that say something are among an image's own, it answers with a probability
of `SAID` where people wrote them, and of `TOLD` where the model did; if only a share of them is, with that probability
times the share cubed.

The two are taken as independent evidence: 1 − (1 − p)(1 − q). Words that the model does not know are not in its
embedding, so p is multiplied by the squared share of known words: a question of unknown words is answered by words
or not at all.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

SAID, TOLD = 0.9, 0.5
ENOUGH = 50
SAMPLE = 400  # texts that are compared with as many images
ALIKE, UNCERTAIN = 0.6, 0.2  # shares of common words (Jaccard)
_RIDGE = 1e-4


@dataclass(frozen=True, slots=True)
class Calibration:
    """From a similarity to a probability.

    Args:
        how: "default", "library" (fitted on its own texts), or "judged" (on a person's judgements).
        pairs: that it was fitted on.
    """

    similarity: float
    outstanding: float
    constant: float
    prior: float
    how: str = "default"
    pairs: int = 0

    def probability(self, scores: Values, mean: float, deviation: float) -> Values:
        """Of scores, among those of the question with mean and deviation."""
        z = outstanding(scores, mean, deviation)
        odds = self.similarity * scores + self.outstanding * z + self.constant
        return sigmoid(odds + np.log(self.prior / (1 - self.prior)))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        return cls(**row)


# Ranks alone, so that it holds for any model: one half at three deviations above the mean.
DEFAULT = Calibration(0.0, 2.5, -7.5 + float(np.log(99)), 0.01)


def outstanding(scores: Values, mean: float, deviation: float) -> Values:
    """z; in a library of images that all score alike, nothing stands out."""
    found: Values = (np.asarray(scores, np.float64) - mean) / deviation if deviation > 1e-9 else np.zeros(len(scores))
    return found


def fit(s: Values, z: Values, matches: NDArray[np.bool_], how: str = "library") -> Calibration:
    """Fit on pairs with similarities s that stand out by z.

    Newton's method on the ridge-penalised likelihood. On a library's own pairs both classes weigh the same, and their
    frequencies are the prior; a person's judgements are taken as frequent as they are. A slope that would make likeness
    count against a match is left out: the pairs were too few, or the model knows nothing.
    """
    y = matches.astype(np.float64)
    positives, negatives = y.sum(), (1 - y).sum()
    if min(positives, negatives) < (ENOUGH / 2 if how == "library" else 1):
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
    penalty[-1, -1] = 1e-9  # the constant is free
    w = np.zeros(table.shape[1])
    for _ in range(100):
        p = sigmoid(table @ w)
        gradient = table.T @ (weights * (p - y)) + penalty @ w
        curvature = (table * (weights * p * (1 - p))[:, None]).T @ table + penalty
        step = np.linalg.solve(curvature, gradient)
        w -= step * min(1.0, 2.0 / (np.abs(step).max() + 1e-12))  # far from the end, a whole step may go astray
        if np.abs(step).max() < 1e-8:
            break
    return w


def judged_by_words(texts: Sequence[frozenset[str]]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which texts' images answer which texts, and which pairs count, going by the words that they share."""
    words = {word: place for place, word in enumerate(sorted(set().union(*texts)))}
    table = np.zeros((len(texts), len(words)), np.float32)
    for row, text in enumerate(texts):
        table[row, [words[word] for word in text]] = 1
    common = table @ table.T
    sizes = table.sum(1)
    share = common / np.maximum(1, sizes[:, None] + sizes[None, :] - common)
    matching = share >= ALIKE
    np.fill_diagonal(matching, True)
    return matching, matching | (share < UNCERTAIN)


def by_words(share_said: float, share_any: float) -> float:
    """The probability of a match from the shares of the question's words that people, and that anybody, said of it."""
    return max(SAID * share_said**3, TOLD * share_any**3)


def together(p: Values, q: Values) -> Values:
    found: Values = 1 - (1 - p) * (1 - q)
    return found


def sigmoid(values: Values) -> Values:
    found: Values = 1 / (1 + np.exp(-np.clip(values, -60, 60)))
    return found
