"""Captioners without training."""

from collections import Counter
from math import log, sqrt

import numpy as np
import pytest

from seetell.learn.reproduction.baselines import ConsensusCaptioner, template_caption

CAPTIONS = [
    ["a brown dog runs on grass", "a dog runs on the grass", "an animal outside"],
    ["a dog runs on grass near a tree", "the brown dog runs"],
    ["a red car on a street", "a car parked on a street", "a red vehicle"],
    ["a red car drives down a street"],
]
FEATURES = np.array([[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.0, 0.8]])
TOKENISED = [[caption.split() for caption in group] for group in CAPTIONS]


def plain_consensus(pool: list[list[str]]) -> list[str]:
    """The caption with the greatest summed similarity to the pool, counted n-gram by n-gram."""

    def vector(caption: list[str], n: int) -> dict[tuple[str, ...], float]:
        counts = Counter(tuple(caption[i : i + n]) for i in range(len(caption) - n + 1))
        weighed = {}
        for gram, count in counts.items():
            having = sum(
                any(gram == tuple(c[i : i + n]) for c in group for i in range(len(c) - n + 1)) for group in TOKENISED
            )
            weighed[gram] = count * (log(len(TOKENISED)) - log(max(1, having)))
        return weighed

    def cosine(a: dict[tuple[str, ...], float], b: dict[tuple[str, ...], float]) -> float:
        down = sqrt(sum(v * v for v in a.values())) * sqrt(sum(v * v for v in b.values()))
        return sum(a[gram] * b.get(gram, 0.0) for gram in a) / down if down else 0.0

    totals = [sum(cosine(vector(a, n), vector(b, n)) for b in pool for n in (1, 2, 3, 4)) for a in pool]
    return pool[totals.index(max(totals))]


@pytest.mark.parametrize(("query", "nearest"), [([1.0, 0.0], (0, 1)), ([0.0, 3.0], (2, 3))])
def test_the_caption_is_the_consensus_of_the_nearest_images(query: list[float], nearest: tuple[int, int]) -> None:
    captioner = ConsensusCaptioner(FEATURES, TOKENISED, neighbours=2)
    pool = [caption for image in nearest for caption in TOKENISED[image]]
    assert captioner(np.array([query])) == [plain_consensus(pool)]


def test_many_images_at_once_and_more_neighbours_than_images() -> None:
    captioner = ConsensusCaptioner(FEATURES, TOKENISED, neighbours=50)
    pool = [caption for group in TOKENISED for caption in group]
    assert captioner(FEATURES, batch=3) == [plain_consensus(pool)] * 4


def test_an_outlier_is_never_the_consensus() -> None:
    assert ConsensusCaptioner(FEATURES, TOKENISED, neighbours=1)(FEATURES[:1]) != [["an", "animal", "outside"]]


@pytest.mark.parametrize(
    ("labels", "caption"),
    [
        (["dog"], "there is a dog"),
        (["apple", "dog"], "there is an apple and a dog"),
        (["dog", "two cars", "stairs"], "there is a dog, two cars and stairs"),
        ([], "there is a picture"),
    ],
)
def test_templates(labels: list[str], caption: str) -> None:
    assert template_caption(labels) == caption


def test_a_template_of_ones_own() -> None:
    assert template_caption(["egg"], "this shows {things} .") == "this shows an egg ."
