"""CIDEr: the agreement of a caption with its references, where rare phrases count more than common ones.

Every caption becomes four vectors, one for each order n = 1…4, of its n-grams' counts times

    log N − log max(1, number of images with the n-gram in a reference),   N images in all.

For each reference and order the score is the cosine of the two vectors, the candidate's entries cut down to the
reference's, times exp(−δ² / 2σ²) for lengths that differ by δ (σ = 6); CIDEr is 10 × its mean over orders and
references: the variant called CIDEr-D, as pycocoevalcap computes it. Here it is a percentage: 0.469 becomes 46.9.
Vedantam et al., *CIDEr: consensus-based image description evaluation* (2015).

Self-critical training scores thousands of sampled captions a second against references that never change::

    statistics = CiderStatistics.of(training_references)
    reward = Cider(training_references, statistics).scores(samples, images)
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from seetell.metrics.captions.corpus import (
    ORDERS,
    Corpus,
    Integers,
    Keys,
    Ngrams,
    Sentences,
    TokenNumbers,
    Tokens,
    check_references,
    concatenate,
    index_of,
    owners,
)

_TWO_SIGMA_SQUARED = 2 * 6.0**2
Floats = npt.NDArray[np.float64]


class CiderStatistics:
    """Document frequencies: in how many images' references each n-gram occurs, by which CIDEr weights n-grams.

    Tokens may be words or a vocabulary's numbers, but must be of one kind in everything that is scored.

    Example:
        >>> statistics = CiderStatistics.of([[["a", "dog"]], [["a", "cat"]]])
        >>> statistics.images
        2
    """

    def __init__(self, references: Sentences, owner: Integers, numbers: TokenNumbers) -> None:
        self.numbers = numbers
        self.images = int(owner[-1]) + 1
        self._weights: dict[int, tuple[Keys, Floats]] = {}
        for order in ORDERS:
            grams = references.ngrams(order)
            pairs = np.sort(owner[grams.sentence] * len(grams.keys) + grams.index)
            pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # an n-gram counts once per image
            frequency = np.bincount(pairs % max(1, len(grams.keys)), minlength=len(grams.keys))
            self._weights[order] = grams.keys, np.log(self.images) - np.log(np.maximum(1, frequency))

    @classmethod
    def of(cls, references: Sequence[Sequence[Tokens]]) -> "CiderStatistics":
        """Count n-grams.

        Args:
            references: the tokenised references of each image.
        """
        check_references(references)
        numbers = TokenNumbers()
        return cls(Sentences(concatenate(references), numbers), owners(references), numbers)

    def vectors(self, grams: Ngrams, order: int, sentences: int) -> tuple[Floats, Floats]:
        """The weight of every row of `grams`, and the length of every sentence's vector."""
        keys, weights = self._weights[order]
        at = index_of(grams.keys, keys)
        idf = np.full(len(at), np.log(self.images))  # one that no reference has is weighted as if it occurred once
        idf[at >= 0] = weights[at[at >= 0]]
        weight: Floats = grams.count * idf[grams.index]
        return weight, np.sqrt(np.bincount(grams.sentence, weight**2, minlength=sentences))


class Cider:
    """Scores captions against references that are prepared once.

    Args:
        references: the tokenised references of each image.
        statistics: how common n-grams are; counted in `references` by default.

    Example:
        >>> cider = Cider([[["a", "dog", "runs"]], [["a", "cat", "sleeps"]]])
        >>> cider.scores([["a", "dog", "runs"], ["a", "dog", "runs"]]).round(1)
        array([750.,   0.])
    """

    def __init__(self, references: Sequence[Sequence[Tokens]], statistics: CiderStatistics | None = None) -> None:
        check_references(references)
        numbers = statistics.numbers if statistics is not None else TokenNumbers()
        sentences, owner = Sentences(concatenate(references), numbers), owners(references)
        self._prepare(sentences, owner, statistics or CiderStatistics(sentences, owner, numbers))

    @classmethod
    def of_corpus(cls, corpus: Corpus) -> "Cider":
        self = cls.__new__(cls)
        self._prepare(corpus.references, corpus.owner, CiderStatistics(corpus.references, corpus.owner, corpus.numbers))
        return self

    def _prepare(self, references: Sentences, owner: Integers, statistics: CiderStatistics) -> None:
        self.statistics = statistics
        self._lengths = references.lengths
        self._first = np.searchsorted(owner, np.arange(int(owner[-1]) + 2))  # an image's first reference
        self._orders = {}
        for order in ORDERS:
            grams = references.ngrams(order)
            weight, norm = statistics.vectors(grams, order, len(references))
            start = np.searchsorted(grams.sentence, np.arange(len(references) + 1))
            self._orders[order] = grams.keys, grams.index, weight, norm, start

    def scores(self, candidates: Sequence[Tokens], images: npt.ArrayLike | None = None) -> Floats:
        """CIDEr of each candidate, as a percentage.

        Args:
            candidates: tokenised captions; several may be of one image.
            images: the index in `references` of each candidate's image; by default one candidate per image.
        """
        of = np.arange(len(candidates)) if images is None else np.asarray(images, dtype=np.int64)
        if len(of) != len(candidates) or (len(of) and not 0 <= of.min() <= of.max() < len(self._first) - 1):
            raise ValueError("`images` must name, for each candidate, one of the images that have references")
        return self.scores_of(Sentences(candidates, self.statistics.numbers), of)

    def scores_of(self, candidates: Sentences, of: Integers) -> Floats:
        """As `scores`, for captions already in arrays."""
        number = self._first[of + 1] - self._first[of]
        pair_candidate = np.repeat(np.arange(len(candidates)), number)
        pair_reference = _ranges(self._first[of], number)
        gap = candidates.lengths[pair_candidate] - self._lengths[pair_reference]
        likeness = np.zeros(len(pair_candidate))
        for order in ORDERS:
            likeness += self._cosines(candidates, order, pair_candidate, pair_reference)
        likeness *= np.exp(-(gap**2) / _TWO_SIGMA_SQUARED)
        total = np.bincount(pair_candidate, likeness, minlength=len(candidates))
        return 100 * 10 / len(ORDERS) * total / number

    def _cosines(self, candidates: Sentences, order: int, pair_candidate: Integers, pair_reference: Integers) -> Floats:
        """The clipped cosine of each candidate with each reference it is paired with."""
        written = candidates.ngrams(order)
        mine, my_norm = self.statistics.vectors(written, order, len(candidates))
        keys, index, weight, norm, start = self._orders[order]
        number = start[pair_reference + 1] - start[pair_reference]
        entry = _ranges(start[pair_reference], number)  # the n-grams of every pair's reference
        pair = np.repeat(np.arange(len(pair_candidate)), number)
        if pair_candidate.size < len(self._lengths) // 8:  # a few samples: look up their references' n-grams only
            at = index_of(keys[index[entry]], written.keys)
        else:
            at = index_of(keys, written.keys)[index[entry]]
        known = at >= 0
        entry, pair, at = entry[known], pair[known], at[known]
        found, row = written.rows_of(pair_candidate[pair], at)
        theirs = weight[entry[found]]
        shared = np.bincount(pair[found], np.minimum(mine[row], theirs) * theirs, minlength=len(pair_candidate))
        down = my_norm[pair_candidate] * norm[pair_reference]
        cosines: Floats = np.divide(shared, down, out=np.zeros(len(shared)), where=down > 0)
        return cosines


def cider(corpus: Corpus) -> Floats:
    """CIDEr of each image as a percentage (the corpus score is their mean), n-grams weighted by this corpus."""
    return Cider.of_corpus(corpus).scores_of(corpus.candidates, np.arange(len(corpus)))


def _ranges(starts: Integers, lengths: Integers) -> Integers:
    """The concatenated ranges of the given starts and lengths."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
