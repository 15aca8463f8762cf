"""Thresholds on a classifier's logits, fitted on the validation split.

They are fitted for the best F1 of each label (`by_label`), or for the best F1 averaged over images (`by_image`), which
is what Ren measures and costs rare labels some recall.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]


def by_label(truth: Booleans, logits: NDArray[Any], prior: float = 20.0) -> Floats:
    """A threshold for each label: the one above which its F1 over these images is best.

    A rare label would overfit to its few images. So the counts that one threshold for all labels would give are added
    to its own, weighted as if they were about `prior` true labels:

        F1_k(t) = 2 (h_k + w h) / (h_k + f_k + n_k + w (h + f + n)),      w = prior / n

    with the hits h, false alarms f and true labels n of label k; without index, of all labels.

    Args:
        truth: (images, labels).
        logits: of the same shape.
        prior: 0 is the best F1 of each label on its own.
    """
    shares = np.concatenate([np.linspace(0, 0.9, 100), np.linspace(0.9, 1, 300)])  # most labels are true of few images
    candidates = np.quantile(logits, shares)
    hits, false = (np.stack([((logits > threshold) & of).sum(0) for threshold in candidates]) for of in (truth, ~truth))
    true = truth.sum(0)
    weight = prior / max(1, true.sum())
    hits, false, true = (own + weight * own.sum(-1, keepdims=True) for own in (hits, false, true))
    f1 = 2 * hits / np.maximum(hits + false + true, 1e-9)
    thresholds: Floats = candidates[f1.argmax(0)]
    return thresholds


def by_image(truth: Booleans, logits: NDArray[Any], *, sweeps: int = 2) -> Floats:
    """A threshold for each label, such that precision and recall, averaged over images, have the best F1.

    Coordinate ascent: starts from one threshold for all labels, then chooses that of each label in turn.

    Args:
        truth: (images, labels); every image has a label.
        logits: of the same shape.
        sweeps: passes over the labels.
    """
    thresholds = by_label(truth, logits, prior=1e9)
    chosen = logits > thresholds
    labels = truth.sum(1, keepdims=True)
    for _ in range(sweeps):
        for label in range(truth.shape[1]):
            true, scores = truth[:, label], logits[:, label]
            others = np.delete(chosen, label, axis=1)
            given = others.sum(1, keepdims=True)
            hits = (others & np.delete(truth, label, axis=1)).sum(1, keepdims=True)
            candidates = np.append(_candidates(scores, int(true.sum())), thresholds[label])
            over = scores[:, None] > candidates
            found = hits + (over & true[:, None])
            precision = (found / np.maximum(1, given + over)).mean(0)
            recall = (found / np.maximum(1, labels)).mean(0)
            f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
            if f1.max() > f1[-1]:
                thresholds[label] = candidates[f1.argmax()]
                chosen[:, label] = scores > thresholds[label]
    return thresholds


def _candidates(scores: NDArray[Any], true: int, count: int = 30) -> Floats:
    """Thresholds that a seventh to four times as many images pass as the label is true of."""
    share = max(true, 3) / len(scores)
    passing = np.minimum(share * np.geomspace(0.15, 4, count), 1)
    candidates: Floats = np.quantile(scores, 1 - passing)
    return candidates
