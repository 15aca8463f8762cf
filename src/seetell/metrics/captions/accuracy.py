"""Next-word accuracy: how often a captioner that is told the true words so far finds the next one."""

import numpy as np
import numpy.typing as npt


def next_word_accuracy(predicted: npt.ArrayLike, target: npt.ArrayLike, *, ignore: int) -> float:
    """The share, in per cent, of places at which the most probable word is the true one.

    Args:
        predicted: words (any shape), or scores of all words (that shape and one axis more, the last).
        target: the true words, the end of the caption among them.
        ignore: the padding, whose places are left out.
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
