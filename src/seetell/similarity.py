"""How similar an image and a text are, computed from their embeddings: cosine, order, Euclidean.

Each similarity is a small object that knows its direction: the first argument is always the images' side, and a
higher score always means more similar::

    by_name("order").scores(images, texts)  # (P, D), (T, D) -> (P, T)
"""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from seetell.errors import SeetellError, did_you_mean
from seetell.util import usable_cores

Floats = npt.NDArray[np.floating[Any]]

# A tile of the order similarity (images × texts × dimensions) stays in a processor's cache: 64 Ki floats.
_TILE = 1 << 16


class HasVector(Protocol):
    """An embedding, as `Retriever` returns them."""

    @property
    def vector(self) -> npt.NDArray[np.float32]: ...


Vectors = Floats | HasVector | Iterable[HasVector | Floats]
"""A table of vectors (N, D), an embedding, or several embeddings."""


class Similarity(Protocol):
    """Scores images against texts; higher means more similar."""

    @property
    def name(self) -> str:
        """What recipes and bundles call it."""
        ...

    @property
    def symmetric(self) -> bool:
        """Whether the two sides may be exchanged; if not, nearest-neighbour indexes cannot be used."""
        ...

    def scores(self, images: Vectors, texts: Vectors) -> Floats:
        """The score of every image (P, D) with every text (T, D), as (P, T)."""
        ...


class Cosine:
    """S(i, c) = i·c / (‖i‖ ‖c‖). The scores of a zero vector are 0.

    Example:
        >>> Cosine().scores(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
        array([[0.6, 0.8]])
    """

    name = "cosine"
    symmetric = True

    def scores(self, images: Vectors, texts: Vectors) -> Floats:
        """Score every image with every text.

        Args:
            images: vectors (P, D), or embeddings.
            texts: vectors (T, D), or embeddings.

        Returns:
            Scores from −1 to 1, (P, T).
        """
        left, right = _tables(images, texts)
        # Lengths divide the scores, not the vectors: a block of scores is small compared with a copy of all texts.
        scores: Floats = left @ right.T
        scores *= _inverse_lengths(left)[:, None]
        scores *= _inverse_lengths(right)[None, :]
        return scores


class Order:
    """S(c, i) = −‖max(0, c − i)‖²: 0 when the image is at least the caption in every dimension.

    Asymmetric: captions are the general side, images the specific one. Vilalta et al., equation 3; Vendrov et al.,
    *Order-embeddings of images and language* (2015).

    Example:
        >>> image, caption = np.array([[0.5, 0.75]]), np.array([[0.25, 0.75], [1.0, 0.0]])
        >>> Order().scores(image, caption)
        array([[-0.  , -0.25]])
    """

    name = "order"
    symmetric = False

    def scores(self, images: Vectors, texts: Vectors) -> Floats:
        """Score every image with every text.

        Args:
            images: vectors (P, D), or embeddings.
            texts: vectors (T, D), or embeddings.

        Returns:
            Scores of 0 or less, (P, T).
        """
        left, right = _tables(images, texts)
        few_texts = len(right) < len(left)
        few, many = (right, left) if few_texts else (left, right)
        kind = np.result_type(left, right)
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

        starts = range(0, len(many), rows)
        if len(starts) > 1:
            list(_pool(os.getpid()).map(fill, starts))
        else:
            fill(0)
        np.negative(scores, out=scores)
        return scores.T if few_texts else scores


class Euclidean:
    """S(i, c) = −‖i − c‖: the distance, with its sign changed.

    Example:
        >>> Euclidean().scores(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
        array([[-5.]])
    """

    name = "euclidean"
    symmetric = True

    def scores(self, images: Vectors, texts: Vectors) -> Floats:
        """Score every image with every text.

        Args:
            images: vectors (P, D), or embeddings.
            texts: vectors (T, D), or embeddings.

        Returns:
            Scores of 0 or less, (P, T).
        """
        left, right = _tables(images, texts)
        kind = np.result_type(left, right)
        # ‖i‖² + ‖c‖² − 2 i·c cancels for vectors that are close together: single precision would blur them.
        left, right = left.astype(np.float64), right.astype(np.float64)
        squares = left @ right.T
        squares *= -2
        squares += np.einsum("pd,pd->p", left, left)[:, None]
        squares += np.einsum("td,td->t", right, right)[None, :]
        np.sqrt(np.maximum(squares, 0, out=squares), out=squares)
        return np.negative(squares, out=squares).astype(kind, copy=False)


COSINE, ORDER, EUCLIDEAN = Cosine(), Order(), Euclidean()
SIMILARITIES: dict[str, Similarity] = {each.name: each for each in (COSINE, ORDER, EUCLIDEAN)}


def by_name(name: str) -> Similarity:
    """The similarity called `cosine`, `order` or `euclidean`.

    Example:
        >>> by_name("order").symmetric
        False
    """
    if name not in SIMILARITIES:
        raise SeetellError(f"there is no similarity called {name!r}", remedy=did_you_mean(name, SIMILARITIES))
    return SIMILARITIES[name]


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """One pool per process: the threads of a parent do not exist in a forked child."""
    return ThreadPoolExecutor(usable_cores(), thread_name_prefix="similarity")


def _tables(images: Vectors, texts: Vectors) -> tuple[Floats, Floats]:
    left, right = _table(images), _table(texts)
    if left.shape == (0, 0) or right.shape == (0, 0):  # an empty list has no dimension of its own
        dimensions = max(left.shape[-1], right.shape[-1])
        left, right = (np.reshape(each, (0, dimensions)) if not each.size else each for each in (left, right))
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[1]:
        raise ValueError(f"images {left.shape} and texts {right.shape} are not tables of equally long vectors")
    return left, right


def _table(vectors: Any) -> Floats:
    """Vectors as an array (N, D)."""
    if isinstance(vectors, np.ndarray):
        return vectors
    if hasattr(vectors, "vector"):
        return np.asarray(vectors.vector)[np.newaxis]
    rows = [getattr(each, "vector", each) for each in vectors]
    return np.stack(rows) if rows else np.zeros((0, 0), np.float32)


def _inverse_lengths(vectors: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    inverse: Floats = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths != 0)
    return inverse
