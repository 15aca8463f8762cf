"""The logits from which on a classifier gives its labels, fitted on the validation split.

Two things can be wanted: that each label is found as well as it can be (`by_label`), or that each image is labelled
as well as it can be (`by_image`), which is what Ren's F1 measures and costs rare labels some recall.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]


def by_label(truth: Booleans, logits: NDArray[Any], prior: float = 20.0) -> Floats:
    """A threshold for each label: the one above which its F1 over these images is best.

    A label that few images have would be fitted to their accidents. So to its own decisions are added those that one
    threshold for all labels would give, weighted as if they were about `prior` true labels:

        F1_k(t) = 2 (h_k + w h) / (h_k + f_k + n_k + w (h + f + n)),      w = prior / n

    with the hits h, false alarms f and true labels n of label k, and without index of all labels.

    Args:
        truth: (images, labels).
        logits: likewise.
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

    It begins with one threshold for all labels, then chooses that of each label in turn, the others being as they are.

    Args:
        truth: (images, labels); every image has a label.
        logits: likewise.
        sweeps: how often the labels are gone through.
    """
    thresholds = by_label(truth, logits, prior=1e9)
    chosen = logits > thresholds
    labels = truth.sum(1, keepdims=True)
    for _ in range(sweeps):
        for label in range(truth.shape[1]):
            true, scores = truth[:, label], logits[:, label]
            others = np.delete(chosen, label, axis=1)
            told = others.sum(1, keepdims=True)
            hits = (others & np.delete(truth, label, axis=1)).sum(1, keepdims=True)
            candidates = np.append(_candidates(scores, int(true.sum())), thresholds[label])
            over = scores[:, None] > candidates
            found = hits + (over & true[:, None])
            precision = (found / np.maximum(1, told + over)).mean(0)
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
