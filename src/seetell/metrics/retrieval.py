"""Retrieval in both directions: ranks, recalls, and the protocol they were measured by.

A query image has to retrieve any of its own captions, a query caption its own image. Ranks count from 1. An image may
have any number of captions: `owner[t]` is the row of the image that text `t` belongs to. An image without captions is
never a query, but does compete with the others.

**Ties count against the query**: a wrong answer with the same score as the right one is ranked before it. So a model
that has collapsed, and gives everything the same score, comes last and not first. An image's own captions never compete
with each other.

Scores are computed for a block of images at a time; at most `MEMORY` bytes of them are kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seetell.errors import SeetellError
from seetell.similarity import COSINE, Floats, Similarity

Indices = npt.NDArray[np.intp]
ScoreBlock = Callable[[Indices, Indices], Floats]
"""Rows of images, rows of texts -> their scores (images, texts); higher means more similar."""

MEMORY = 256 << 20
_BLOCK = 64 << 20  # bytes of scores made at once


@dataclass(frozen=True, slots=True)
class DirectionScores:
    """Recalls as percentages, and ranks from 1, of the queries in one direction."""

    r1: float
    r5: float
    r10: float
    median_rank: float
    mean_rank: float

    @classmethod
    def of(cls, ranks: Indices) -> "DirectionScores":
        r1, r5, r10 = (100 * float(np.mean(ranks <= k)) for k in (1, 5, 10))
        return cls(r1, r5, r10, float(np.median(ranks)), float(np.mean(ranks)))

    @classmethod
    def mean(cls, folds: "list[DirectionScores]") -> "DirectionScores":
        return cls(*(float(np.mean([getattr(fold, name) for fold in folds])) for name in cls.__slots__))

    def as_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """The scores of a retrieval model, and the protocol they were measured by.

    Example:
        >>> scores = retrieval_scores(np.eye(3), np.eye(3), [0, 1, 2])
        >>> scores.sum_of_recalls, scores.protocol
        (600.0, '3 images, 3 captions')
    """

    image_to_text: DirectionScores
    text_to_image: DirectionScores
    protocol: str

    @property
    def sum_of_recalls(self) -> float:
        return sum(side.r1 + side.r5 + side.r10 for side in (self.image_to_text, self.text_to_image))

    def as_dict(self) -> dict[str, Any]:
        """The metrics as nested dictionaries, for reports."""
        return {
            "image_to_text": self.image_to_text.as_dict(),
            "text_to_image": self.text_to_image.as_dict(),
            "sum_of_recalls": self.sum_of_recalls,
        }


def retrieval_scores(
    images: Floats, texts: Floats, owner: npt.ArrayLike, *, similarity: Similarity = COSINE, folds: int = 1
) -> RetrievalScores:
    """Score embeddings of images (P, D) and texts (T, D) by retrieving each with the other.

    Args:
        images: embeddings, (P, D).
        texts: embeddings, (T, D).
        owner: the row of the image that each text belongs to, (T,).
        similarity: how embeddings are compared.
        folds: 1 retrieves among all images; more cut them, in the order given, into this many equal parts and average
            over the parts (COCO's 1k protocol is 5,000 images in 5 folds, its 5k protocol the same in 1).

    Example:
        >>> images = np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> texts = np.array([[0.9, 0.1], [0.8, 0.6], [0.6, 0.8]])
        >>> scores = retrieval_scores(images, texts, owner=[0, 0, 1])
        >>> scores.image_to_text.r1, scores.text_to_image.mean_rank
        (100.0, 1.0)
    """

    def block(image_rows: Indices, text_rows: Indices) -> Floats:
        return similarity.scores(_rows(images, image_rows), _rows(texts, text_rows))

    _check_lengths(texts, owner)
    return retrieval_scores_of_blocks(block, owner, images=len(images), folds=folds)


def retrieval_scores_of_blocks(
    block: ScoreBlock, owner: npt.ArrayLike, *, images: int, folds: int = 1
) -> RetrievalScores:
    """Like `retrieval_scores`, for a model whose scores are not a function of two vectors.

    Args:
        block: computes the scores of some images with some texts; called twice for the same ones if all scores are more
            than `MEMORY` bytes.
        owner: the row of the image that each text belongs to, (T,).
        images: how many images there are.
        folds: see `retrieval_scores`.

    Example:
        >>> table = np.array([[0.9, 0.1], [0.2, 0.3]])
        >>> scores = retrieval_scores_of_blocks(lambda i, t: table[np.ix_(i, t)], [0, 1], images=2)
        >>> scores.text_to_image.r1
        100.0
    """
    own = _owners(owner, images)
    if folds < 1 or images < folds:
        raise SeetellError(f"{images} images cannot be cut into {folds} folds", remedy="Use fewer folds")
    sides = []
    for rows in np.array_split(np.arange(images), folds):
        text_rows = np.flatnonzero((own >= rows[0]) & (own <= rows[-1]))
        if not len(text_rows):
            raise SeetellError("a fold has no captions: there is nothing to retrieve", remedy="Use fewer folds")
        to_text, to_image = _ranks(block, rows, text_rows, own[text_rows] - rows[0])
        sides.append((DirectionScores.of(to_text), DirectionScores.of(to_image)))
    to_texts, to_images = zip(*sides, strict=True)
    return RetrievalScores(
        DirectionScores.mean(list(to_texts)),
        DirectionScores.mean(list(to_images)),
        protocol=f"{images:,} images, {len(own):,} captions"
        + (f", mean of {folds} folds of {images // folds:,} images" if folds > 1 else ""),
    )


def retrieval_ranks(
    images: Floats, texts: Floats, owner: npt.ArrayLike, *, similarity: Similarity = COSINE
) -> tuple[Indices, Indices]:
    """The rank of every image's best own caption (0 for an image without captions), and of every text's image.

    Args:
        images, texts, owner, similarity: see `retrieval_scores`.

    Example:
        >>> images = np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> texts = np.array([[0.9, 0.1], [0.8, 0.6], [0.6, 0.8]])
        >>> retrieval_ranks(images, texts, owner=[1, 0, 0])
        (array([2, 3]), array([2, 1, 2]))
    """
    _check_lengths(texts, owner)
    own = _owners(owner, len(images))
    found, to_image = _ranks(
        lambda rows, columns: similarity.scores(_rows(images, rows), _rows(texts, columns)),
        np.arange(len(images)),
        np.arange(len(texts)),
        own,
    )
    to_text = np.zeros(len(images), dtype=np.intp)
    to_text[np.unique(own)] = found
    return to_text, to_image


def _ranks(block: ScoreBlock, image_rows: Indices, text_rows: Indices, own: Indices) -> tuple[Indices, Indices]:
    """Ranks of the images that have captions, and of all texts; `own` counts from the first of `image_rows`.

    A first pass over the scores finds those of the right answers, a second counts what is ranked before them.
    """
    images, texts = len(image_rows), len(text_rows)
    by_owner = np.argsort(own, kind="stable")  # so that the own texts of a block are contiguous
    first = np.searchsorted(own[by_owner], np.arange(images + 1))
    kept: list[Floats] | None = [] if images * texts * 8 <= MEMORY else None

    def right(rows: slice) -> tuple[Indices, Indices]:
        columns = by_owner[first[rows.start] : first[rows.stop]]
        return own[columns] - rows.start, columns

    right_score = np.empty(texts)
    for rows in _blocks(images, texts):
        scores = _sound(block(image_rows[rows], text_rows))
        at = right(rows)
        right_score[at[1]] = scores[at]
        if kept is not None:
            kept.append(scores)

    best = np.full(images, -np.inf)
    np.maximum.at(best, own, right_score)
    before_text = np.zeros(texts, dtype=np.intp)
    before_image = np.empty(images, dtype=np.intp)
    for index, rows in enumerate(_blocks(images, texts)):
        scores = kept[index] if kept is not None else block(image_rows[rows], text_rows)
        wrong = np.ones(scores.shape, dtype=bool)
        wrong[right(rows)] = False
        # Compared in the scores' own precision: `right_score` holds them exactly.
        before_text += np.count_nonzero((scores >= right_score.astype(scores.dtype)) & wrong, axis=0)
        before_image[rows] = np.count_nonzero((scores >= best[rows, None].astype(scores.dtype)) & wrong, axis=1)
    asked = np.diff(first) > 0
    return before_image[asked] + 1, before_text + 1


def _blocks(images: int, texts: int) -> Iterator[slice]:
    rows = max(1, _BLOCK // (8 * texts))
    return (slice(start, min(start + rows, images)) for start in range(0, images, rows))


def _rows(vectors: Floats, rows: Indices) -> Floats:
    """`vectors[rows]`, without a copy if the rows are consecutive, as they usually are."""
    start, stop = int(rows[0]), int(rows[-1]) + 1
    return vectors[start:stop] if stop - start == len(rows) else vectors[rows]


def _sound(scores: Floats) -> Floats:
    if np.isnan(scores).any():
        # Every comparison with NaN is false: a model that has diverged would win every query.
        raise SeetellError(
            "some scores are not numbers: the model has diverged", remedy="Train again with a lower learning rate"
        )
    return scores


def _check_lengths(texts: Floats, owner: npt.ArrayLike) -> None:
    if len(texts) != np.size(owner):
        raise ValueError(f"{len(texts)} texts, but {np.size(owner)} owners")


def _owners(owner: npt.ArrayLike, images: int) -> Indices:
    own = np.asarray(owner, dtype=np.intp)
    if not own.size:
        raise SeetellError("there are no captions: there is nothing to retrieve")
    if own.min() < 0 or own.max() >= images:
        raise ValueError(f"a text belongs to image {own.min()} or {own.max()}, but there are {images}")
    return own
