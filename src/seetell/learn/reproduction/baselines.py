"""Captioners that learn nothing (Vaishali, Figure 2 a and b): what a trained one has to beat.

*Retrieval-based*: the images most like the new one are looked up, and one of their captions is transferred. Which one
is decided by consensus (Devlin et al.): the caption that agrees most with all others, the mean over n = 1 … 4 of the
cosines of their n-grams' counts, rare n-grams weighing more (CIDEr's weights).

*Template-based*: a fixed sentence is filled with the labels of what is in the image.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seetell.metrics.captions.cider import CiderStatistics
from seetell.metrics.captions.corpus import ORDERS, Sentences, Tokens


class ConsensusCaptioner:
    """Tells an image with the consensus caption of its nearest neighbours.

    Args:
        features: pooled features (N, D) of the training images.
        captions: their tokenised captions, any number an image.
        neighbours: how many images are asked.
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
        told: list[Tokens] = []
        for start in range(0, len(features), batch):
            scores = _unit(features[start : start + batch]) @ self._features.T
            nearest = np.argpartition(-scores, self._neighbours - 1, axis=1)[:, : self._neighbours]
            told += [
                self._consensus([caption for image in row for caption in self._captions[image]]) for row in nearest
            ]
        return told

    def _consensus(self, pool: Sequence[Tokens]) -> Tokens:
        """The caption of the pool that is most like all of it."""
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

    A label that ends in s, or begins with an article or a number, is left as it is; others get "a" or "an".
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
