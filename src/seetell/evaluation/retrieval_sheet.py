"""What a retrieval model finds for some queries, and what it should have found (Kolluru, Figures 6 and 7).

The queries are the best, the worst and random ones, images and captions; `seetell.figures.retrieval_sheet` draws
them, `seetell.figures.retrieval_page` writes them as an HTML page.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seetell.data import Record
from seetell.evaluation.word_matches import (
    THRESHOLD,
    MarkedText,
    WordMatch,
    content_words,
    marked,
    match_words,
    meanings,
)
from seetell.metrics import retrieval_ranks
from seetell.metrics.retrieval import Indices
from seetell.similarity import COSINE, Floats, Similarity
from seetell.text import WordVectors


@dataclass(frozen=True, eq=False)
class EmbeddedSplit:
    """The embeddings of a split.

    Args:
        records: of the rows of `images` (P, D).
        captions: of the rows of `texts` (T, D).
        owners: the row of the image that each text belongs to.
    """

    records: Sequence[Record]
    captions: Sequence[str]
    images: Floats
    texts: Floats
    owners: Indices
    similarity: Similarity = COSINE

    def __post_init__(self) -> None:
        if len(self.records) != len(self.images) or not len(self.captions) == len(self.texts) == len(self.owners):
            raise ValueError(
                f"{len(self.records)} records, {len(self.images)} images; "
                f"{len(self.captions)} captions, {len(self.texts)} texts, {len(self.owners)} owners"
            )

    def captions_of(self, image: int) -> list[str]:
        return [self.captions[row] for row in np.flatnonzero(self.owners == image).tolist()]


@dataclass(frozen=True, slots=True)
class FoundCaption:
    """A caption retrieved for an image; `right` if it is one of the image's own."""

    caption: MarkedText
    right: bool
    score: float


@dataclass(frozen=True, slots=True)
class ImageQuery:
    """An image, its own captions, and those retrieved, nearest first. `rank` is that of the first right one."""

    record: Record
    rank: int
    captions: tuple[MarkedText, ...]
    found: tuple[FoundCaption, ...]
    pairs: tuple[WordMatch, ...]


@dataclass(frozen=True, slots=True)
class FoundImage:
    """An image retrieved for a caption, with the one of its captions that has most in common with the query."""

    record: Record
    caption: MarkedText
    right: bool
    score: float


@dataclass(frozen=True, slots=True)
class CaptionQuery:
    """A caption, its own image, and those retrieved, nearest first. `rank` is that of its own image."""

    caption: MarkedText
    record: Record
    rank: int
    found: tuple[FoundImage, ...]
    pairs: tuple[WordMatch, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Queries of one kind, in both directions."""

    title: str
    images: tuple[ImageQuery, ...]
    captions: tuple[CaptionQuery, ...]

    @property
    def queries(self) -> tuple[ImageQuery | CaptionQuery, ...]:
        return (*self.images, *self.captions)


def retrieval_sheets(
    split: EmbeddedSplit,
    vectors: WordVectors,
    *,
    count: int = 4,
    k: int = 5,
    seed: int = 1,
    threshold: float = THRESHOLD,
) -> dict[str, Sheet]:
    """Three sheets, called "best", "worst" and "random", of `count` queries in either direction with `k` answers each.

    Args:
        split: what to retrieve from.
        vectors: word vectors, by which matching words are marked; see `match_words`.
        count: how many queries per sheet and direction.
        k: how many answers per query.
        seed: of the random choice.
        threshold: the least cosine of matching words.
    """
    by_image, by_caption = retrieval_ranks(split.images, split.texts, split.owners, similarity=split.similarity)
    images, captions = chosen(by_image, count, seed), chosen(by_caption, count, seed)
    titles = {"best": "Best ranks", "worst": "Worst ranks", "random": "At random"}
    return {
        name: Sheet(
            title,
            tuple(image_query(split, row, int(by_image[row]), vectors, k, threshold) for row in images[name]),
            tuple(caption_query(split, row, int(by_caption[row]), vectors, k, threshold) for row in captions[name]),
        )
        for name, title in titles.items()
    }


def chosen(ranks: Indices, count: int, seed: int) -> dict[str, list[int]]:
    """Which queries are shown: those with the best and the worst ranks, ties broken at random, and random ones.

    A query of rank 0 (an image without captions) is never shown.
    """
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(ranks))
    order = drawn[np.argsort(ranks[drawn], kind="stable")]
    return {"best": order[:count].tolist(), "worst": order[::-1][:count].tolist(), "random": drawn[:count].tolist()}


def image_query(
    split: EmbeddedSplit, row: int, rank: int, vectors: WordVectors, k: int = 5, threshold: float = THRESHOLD
) -> ImageQuery:
    """The k captions nearest to an image."""
    scores = split.similarity.scores(split.images[row : row + 1], split.texts)[0]
    right = split.owners == row
    nearest = _nearest(scores, right, k)
    captions = split.captions_of(row)
    own = content_words(captions)
    matched = [match_words(own, content_words([split.captions[text]]), vectors, threshold) for text in nearest]
    pairs = tuple(dict.fromkeys(pair for found in matched for pair in found))
    meaning = meanings(pairs)
    return ImageQuery(
        split.records[row],
        rank,
        tuple(marked(caption, meaning) for caption in captions),
        tuple(
            FoundCaption(_marked_found(split.captions[text], found, meaning), bool(right[text]), float(scores[text]))
            for text, found in zip(nearest, matched, strict=True)
        ),
        pairs,
    )


def caption_query(
    split: EmbeddedSplit, row: int, rank: int, vectors: WordVectors, k: int = 5, threshold: float = THRESHOLD
) -> CaptionQuery:
    """The k images nearest to a caption."""
    scores = split.similarity.scores(split.images, split.texts[row : row + 1])[:, 0]
    owner = int(split.owners[row])
    right = np.arange(len(split.records)) == owner
    nearest = _nearest(scores, right, k)
    query = split.captions[row]
    own = content_words([query])
    shown = [_best_match(own, split.captions_of(image), vectors, threshold) for image in nearest]
    pairs = tuple(dict.fromkeys(pair for _, found in shown for pair in found))
    meaning = meanings(pairs)
    return CaptionQuery(
        marked(query, meaning),
        split.records[owner],
        rank,
        tuple(
            FoundImage(
                split.records[image],
                _marked_found(caption, found, meaning),
                bool(right[image]),
                float(scores[image]),
            )
            for image, (caption, found) in zip(nearest, shown, strict=True)
        ),
        pairs,
    )


def _marked_found(caption: str, pairs: Iterable[WordMatch], meaning: Mapping[str, int]) -> MarkedText:
    """A retrieved caption, its words marked like those they are paired with."""
    return marked(caption, {pair.found: meaning[pair.own] for pair in pairs})


def _nearest(scores: Floats, right: np.ndarray, k: int) -> list[int]:
    """The k highest scores; of equal ones the wrong come first, as `retrieval_ranks` counts them."""
    order: list[int] = np.lexsort((right, -scores))[:k].tolist()
    return order


def _best_match(
    own: list[str], captions: Sequence[str], vectors: WordVectors, threshold: float
) -> tuple[str, list[WordMatch]]:
    """The caption that has most in common with `own`, and the pairs; both empty for an image without captions."""
    matched = [(caption, match_words(own, content_words([caption]), vectors, threshold)) for caption in captions]
    return max(matched, key=lambda each: sum(pair.cosine for pair in each[1]), default=("", []))
