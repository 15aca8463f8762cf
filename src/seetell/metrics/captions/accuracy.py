"""Next-word accuracy: how often a captioner predicts the next word, given the true words before it."""

import numpy as np
import numpy.typing as npt


def next_word_accuracy(predicted: npt.ArrayLike, target: npt.ArrayLike, *, ignore: int) -> float:
    """The percentage of positions at which the most probable word is the true one.

    Args:
        predicted: words (any shape), or scores of all words (that shape plus a last axis).
        target: the true words, including the end of the caption.
        ignore: the padding token; positions with it do not count.

    Example:
        >>> next_word_accuracy([4, 5, 2, 0], [4, 6, 2, 0], ignore=0)
        66.66666666666666
    """
    truth, guess = np.asarray(target), np.asarray(predicted)
    if guess.ndim == truth.ndim + 1:
        guess = guess.argmax(axis=-1)
    if guess.shape != truth.shape:
        raise ValueError(f"predictions {guess.shape} and targets {truth.shape} are not of one shape")
    counted = truth != ignore
    if not counted.any():
        raise ValueError("every target is padding")
    return 100 * float(np.mean(guess[counted] == truth[counted]))
