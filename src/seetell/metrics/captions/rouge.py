"""ROUGE-L: the longest common subsequence of a caption and its references.

    P = max over references of LCS / candidate length,   R = max over references of LCS / reference length
    ROUGE-L = (1 + β²) P R / (R + β² P),   β = 1.2

The two maxima may come from different references, as in pycocoevalcap. Lin, *ROUGE: a package for automatic
evaluation of summaries* (2004).
"""

import numpy as np
import numpy.typing as npt

from seetell.metrics.captions.corpus import Corpus, Integers

_BETA_SQUARED = 1.2**2


def rouge_l(corpus: Corpus) -> npt.NDArray[np.float64]:
    """ROUGE-L of each image as a percentage (the corpus score is their mean). An empty caption scores 0."""
    common = _longest_common_subsequences(corpus)
    precision, recall = np.zeros(len(corpus)), np.zeros(len(corpus))
    # An empty side has nothing in common with any: 0 / 1.
    np.maximum.at(precision, corpus.owner, common / np.maximum(1, corpus.candidates.lengths)[corpus.owner])
    np.maximum.at(recall, corpus.owner, common / np.maximum(1, corpus.references.lengths))
    down = recall + _BETA_SQUARED * precision
    score: npt.NDArray[np.float64] = np.divide(
        100 * (1 + _BETA_SQUARED) * precision * recall, down, out=np.zeros(len(corpus)), where=down > 0
    )
    return score


def _longest_common_subsequences(corpus: Corpus) -> Integers:
    """The length of the longest common subsequence of every reference and its image's candidate.

    Bit-parallel: bit i of `row` is 0 where the table of the textbook method steps up at the candidate's word i, so that
    a whole row of the table is one addition of integers. Hyyrö, *Bit-parallel LCS-length computation revisited* (2004).
    """
    written, wanted = corpus.candidates.tokens.tolist(), corpus.references.tokens.tolist()
    first, from_ = corpus.candidates.starts.tolist(), corpus.references.starts.tolist()
    lengths = []
    positions: dict[int, int] = {}
    last = -1
    for reference, image in enumerate(corpus.owner.tolist()):
        if image != last:
            last, positions, bit = image, {}, 1
            for token in written[first[image] : first[image + 1]]:
                positions[token] = positions.get(token, 0) | bit
                bit <<= 1
            full = bit - 1
        row = full
        for token in wanted[from_[reference] : from_[reference + 1]]:
            if token in positions:
                match = row & positions[token]
                row = (row + match | row - match) & full
        lengths.append((full ^ row).bit_count())
    return np.array(lengths, dtype=np.int64)
