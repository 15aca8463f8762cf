"""The simplest decoder there is, for examples and tests."""

from typing import Any

import numpy as np
import numpy.typing as npt

from seetell.decoding.protocol import Floats, Tokens


class MarkovChain:
    """A decoder whose next token depends on the last one only; images make no difference to it.

    Args:
        probabilities: of each token (column) after each token (row), (V, V).

    Example:
        >>> from seetell.decoding import Rules, greedy
        >>> chain = MarkovChain([[0, 1, 0], [0, 0.1, 0.9], [0, 0, 1]])
        >>> greedy(chain, np.zeros(1), Rules(start=0, end=2))[0].tokens
        array([1])
    """

    def __init__(self, probabilities: npt.ArrayLike) -> None:
        with np.errstate(divide="ignore"):
            self._log_probs: Floats = np.log(np.asarray(probabilities, dtype=np.float64))

    def start(self, features: Any) -> int:
        return len(features)

    def step(self, tokens: Tokens, state: int) -> tuple[Floats, int, None]:
        return self._log_probs[tokens], state, None

    def select(self, state: int, rows: npt.NDArray[np.intp]) -> int:
        return len(rows)
