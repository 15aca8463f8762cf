"""BLEU-1 to BLEU-4, with and without the brevity penalty.

    BLEU-n = BP · (p₁ · … · pₙ)^(1/n),   BP = min(1, exp(1 − r/c))

pₖ is the share of the candidates' k-grams that occur in a reference of the same image (each at most as often as in
the reference that has it most often), c the candidates' length and r, summed over images, the length of the
reference closest to the candidate (the shorter one of two as close). Counts are pooled over all images before any
division. Papineni et al., *BLEU: a method for automatic evaluation of machine translation* (2002). Xu et al. report
BLEU without BP; most others with it.

The tiny constants are those of pycocoevalcap, so that the values agree.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seetell.metrics.captions.corpus import ORDERS, Corpus, Integers, index_of

_SMALL, _TINY = 1e-9, 1e-15
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bleu:
    """BLEU-1…4 as percentages, of the corpus (4,) and of each image (4, P), with and without brevity penalty."""

    corpus: Floats
    corpus_no_bp: Floats
    images: Floats
    images_no_bp: Floats


def bleu(corpus: Corpus) -> Bleu:
    """BLEU of every order, of the whole corpus and of each image."""
    length = corpus.candidates.lengths
    closest = _closest_lengths(corpus)
    correct = np.stack([_clipped_matches(corpus, order) for order in ORDERS])  # (4, P)
    possible = np.stack([np.maximum(0, length - order + 1) for order in ORDERS])
    whole = _geometric_means(correct.sum(axis=1, keepdims=True), possible.sum(axis=1, keepdims=True))[:, 0]
    each = _geometric_means(correct, possible)
    return Bleu(
        corpus=100 * whole * _brevity_penalty(length.sum(keepdims=True), closest.sum(keepdims=True)),
        corpus_no_bp=100 * whole,
        images=100 * each * _brevity_penalty(length, closest),
        images_no_bp=100 * each,
    )


def _closest_lengths(corpus: Corpus) -> Integers:
    """For each image, the length of the reference closest to the candidate's, the shorter of two as close."""
    lengths, owner = corpus.references.lengths, corpus.owner
    order = np.lexsort((lengths, np.abs(lengths - corpus.candidates.lengths[owner]), owner))
    first = np.searchsorted(owner, np.arange(len(corpus)))  # every image has a reference
    return lengths[order[first]]


def _clipped_matches(corpus: Corpus, order: int) -> Integers:
    """For each image, how many n-grams of its candidate are in a reference."""
    written, wanted = corpus.candidates.ngrams(order), corpus.references.ngrams(order)
    found, row = written.rows_of(corpus.owner[wanted.sentence], index_of(wanted.keys, written.keys)[wanted.index])
    most = np.zeros(len(written.count), dtype=np.int64)
    np.maximum.at(most, row, wanted.count[found])
    return np.bincount(written.sentence, np.minimum(written.count, most), minlength=len(corpus)).astype(np.int64)


def _geometric_means(correct: Integers, possible: Integers) -> Floats:
    """(p₁ · … · pₙ)^(1/n) for n = 1…4, down the first axis."""
    precision = (correct + _TINY) / (possible + _SMALL)
    means: Floats = np.cumprod(precision, axis=0) ** (1 / np.array(ORDERS)[:, None])
    return means


def _brevity_penalty(length: Integers, closest: Integers) -> Floats:
    ratio = (length + _TINY) / (closest + _SMALL)
    penalty: Floats = np.exp(1 - 1 / np.minimum(1, ratio))
    return penalty
