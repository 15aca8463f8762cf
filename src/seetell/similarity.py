"""How alike an image and a text are, from their embeddings: cosine, order, Euclidean.

Each similarity is a small object that knows its direction: the first argument is always the images' side, and a
bigger score always means more alike::

    by_name("order").scores(images, texts)  # (P, D), (T, D) -> (P, T)
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from seetell.errors import SeetellError

Floats = npt.NDArray[np.floating[Any]]

# A tile of the order similarity (images × texts × dimensions) stays in a processor's cache: 64 Ki floats.
_TILE = 1 << 16


class Similarity(Protocol):
    """Scores images against texts; bigger means more alike."""

    @property
    def name(self) -> str: ...

    @property
    def symmetric(self) -> bool:
        """Whether the two sides may be exchanged; if not, nearest-neighbour indexes cannot serve it."""
        ...

    def scores(self, images: Floats, texts: Floats) -> Floats:
        """The score of every image (P, D) with every text (T, D), as (P, T)."""
        ...


class Cosine:
    """S(i, c) = i·c / (‖i‖ ‖c‖). A vector of zeros is like nothing: its scores are 0."""

    name = "cosine"
    symmetric = True

    def scores(self, images: Floats, texts: Floats) -> Floats:
        _check(images, texts)
        # Lengths divide the scores, not the vectors: a block of scores is small beside a copy of all texts.
        scores: Floats = images @ texts.T
        scores *= _inverse_lengths(images)[:, None]
        scores *= _inverse_lengths(texts)[None, :]
        return scores


class Order:
    """S(c, i) = −‖max(0, c − i)‖²: 0 when the image is at least the caption in every dimension.

    Asymmetric: captions are the general side, images the specific one. Vilalta et al., equation 3; Vendrov et al.,
    *Order-embeddings of images and language* (2015).
    """

    name = "order"
    symmetric = False

    def scores(self, images: Floats, texts: Floats) -> Floats:
        _check(images, texts)
        few_texts = len(texts) < len(images)
        few, many = (texts, images) if few_texts else (images, texts)
        kind = np.result_type(images, texts)
        scores = np.empty((len(few), len(many)), dtype=kind)
        rows = max(1, _TILE // max(1, many.shape[1]))

        def fill(start: int) -> None:
            some = many[start : start + rows]
            excess = np.empty(some.shape, dtype=kind)
            zeros = np.zeros_like(excess)  # numpy's maximum with an array is several times faster than with a number
            for index, one in enumerate(few):
                captions, seen = (one, some) if few_texts else (some, one)
                np.subtract(captions, seen, out=excess)
                np.maximum(excess, zeros, out=excess)
                scores[index, start : start + rows] = np.matmul(excess[:, None, :], excess[:, :, None])[:, 0, 0]

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(fill, range(0, len(many), rows)))
        np.negative(scores, out=scores)
        return scores.T if few_texts else scores


class Euclidean:
    """S(i, c) = −‖i − c‖: the distance, with its sign changed."""

    name = "euclidean"
    symmetric = True

    def scores(self, images: Floats, texts: Floats) -> Floats:
        _check(images, texts)
        # ‖i‖² + ‖c‖² − 2 i·c cancels for vectors that lie close together: single precision would blur them.
        left, right = images.astype(np.float64), texts.astype(np.float64)
        squares = left @ right.T
        squares *= -2
        squares += np.einsum("pd,pd->p", left, left)[:, None]
        squares += np.einsum("td,td->t", right, right)[None, :]
        np.sqrt(np.maximum(squares, 0, out=squares), out=squares)
        return np.negative(squares, out=squares).astype(np.result_type(images, texts), copy=False)


COSINE, ORDER, EUCLIDEAN = Cosine(), Order(), Euclidean()
SIMILARITIES: dict[str, Similarity] = {each.name: each for each in (COSINE, ORDER, EUCLIDEAN)}


def by_name(name: str) -> Similarity:
    """The similarity called `cosine`, `order` or `euclidean`."""
    if name not in SIMILARITIES:
        raise SeetellError(
            f"there is no similarity called {name!r}", remedy=f"Choose one of: {', '.join(SIMILARITIES)}"
        )
    return SIMILARITIES[name]


def _inverse_lengths(vectors: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    inverse: Floats = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths != 0)
    return inverse


def _check(images: Floats, texts: Floats) -> None:
    if images.ndim != 2 or texts.ndim != 2 or images.shape[1] != texts.shape[1]:
        raise ValueError(f"images {images.shape} and texts {texts.shape} are not tables of equally long vectors")
