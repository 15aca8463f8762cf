"""Next-word accuracy by hand."""

import numpy as np
import pytest

from seetell.metrics.captions.accuracy import next_word_accuracy


def test_padding_does_not_count() -> None:
    target = [[5, 6, 2], [7, 2, 0]]
    assert next_word_accuracy([[5, 1, 2], [7, 2, 0]], target, ignore=0) == pytest.approx(100 * 4 / 5)
    assert next_word_accuracy([[5, 1, 2], [7, 2, 9]], target, ignore=0) == pytest.approx(100 * 4 / 5)


def test_scores_of_all_words_mean_the_highest() -> None:
    scores = np.zeros((2, 3, 4))
    for index, word in np.ndenumerate([[1, 2, 3], [3, 2, 1]]):
        scores[(*index, word)] = 1
    assert next_word_accuracy(scores, [[1, 2, 2], [3, 0, 0]], ignore=0) == pytest.approx(75)


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="one shape"):
        next_word_accuracy([1, 2], [1, 2, 3], ignore=0)
    with pytest.raises(ValueError, match="padding"):
        next_word_accuracy([1], [0], ignore=0)
