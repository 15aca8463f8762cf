"""Captioners without training (Vaishali, Figure 2 a and b): the baselines for trained ones.

*Retrieval-based*: the caption of one of the most similar training images. The consensus decides which one (Devlin et
al.): the caption that agrees most with all others, by the mean over n = 1 … 4 of the cosine between n-gram counts with
CIDEr's weights.

*Template-based*: a fixed sentence filled with the labels of the image.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seetell.metrics.captions.cider import CiderStatistics
from seetell.metrics.captions.corpus import ORDERS, Sentences, Tokens


class ConsensusCaptioner:
    """Captions an image with the consensus caption of its nearest neighbours.

    Args:
        features: pooled features (N, D) of the training images.
        captions: their tokenised captions, any number per image.
        neighbours: the number of most similar images to consider.
    """

    def __init__(
        self, features: NDArray[np.floating], captions: Sequence[Sequence[Tokens]], neighbours: int = 20
    ) -> None:
        if len(features) != len(captions):
            raise ValueError(f"features of {len(features)} images, but captions of {len(captions)}")
        self._features = _unit(features)
        self._captions, self._neighbours = captions, min(neighbours, len(captions))
        self._statistics = CiderStatistics.of(captions)

    def __call__(self, features: NDArray[np.floating], batch: int = 512) -> list[Tokens]:
        """One tokenised caption for each image (B, D)."""
        captions: list[Tokens] = []
        for start in range(0, len(features), batch):
            scores = _unit(features[start : start + batch]) @ self._features.T
            nearest = np.argpartition(-scores, self._neighbours - 1, axis=1)[:, : self._neighbours]
            captions += [
                self._consensus([caption for image in row for caption in self._captions[image]]) for row in nearest
            ]
        return captions

    def _consensus(self, pool: Sequence[Tokens]) -> Tokens:
        """The caption that is most similar to all captions of the pool."""
        sentences = Sentences(pool, self._statistics.numbers)
        agreement = np.zeros(len(pool))
        for order in ORDERS:
            grams = sentences.ngrams(order)
            weight, norm = self._statistics.vectors(grams, order, len(pool))
            vectors = np.zeros((len(pool), len(grams.keys)))
            vectors[grams.sentence, grams.index] = weight / np.maximum(norm, 1e-12)[grams.sentence]
            agreement += vectors @ vectors.sum(axis=0)
        return pool[int(agreement.argmax())]


def _unit(features: NDArray[np.floating]) -> NDArray[np.float32]:
    values = np.asarray(features, dtype=np.float32)
    unit: NDArray[np.float32] = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
    return unit


def template_caption(labels: Sequence[str], template: str = "there is {things}", nothing: str = "a picture") -> str:
    """A sentence with the labels listed in it: `there is a dog, an apple and two cars`.

    A label that ends in s, or starts with an article or a number, stays unchanged; others get "a" or "an".
    The default for images without labels is part of the published measurement: docs/results/vaishali.md.
    """
    named = [_with_article(label) for label in labels]
    if not named:
        return template.format(things=nothing)
    listed = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    return template.format(things=listed)


_DETERMINED = {"a", "an", "the", "some", "one", "two", "three", "four", "five", "many", "several"}


def _with_article(label: str) -> str:
    if label.split()[0].lower() in _DETERMINED or label.endswith("s"):
        return label
    return f"{'an' if label[0].lower() in 'aeiou' else 'a'} {label}"
