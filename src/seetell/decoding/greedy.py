"""Greedy decoding: the most probable token, every time."""

from typing import Any

import numpy as np

from seetell.decoding.protocol import Decoder, Rules, State
from seetell.decoding.result import Decoded
from seetell.decoding.stepwise import write


def greedy(decoder: Decoder[State], features: Any, rules: Rules) -> list[Decoded]:
    """Decode greedily: one sequence per image, each token the most probable one after those before it.

    Args:
        decoder: the model.
        features: one row per image, passed to `Decoder.start`.
        rules: what a sequence may contain.

    Example:
        >>> import numpy as np
        >>> from seetell.decoding import MarkovChain, Rules
        >>> chain = MarkovChain([[0, 0.6, 0.4, 0], [0, 0.4, 0.3, 0.3], [0, 0, 0.1, 0.9], [0, 0, 0, 1]])
        >>> greedy(chain, np.zeros(2), Rules(start=0, end=3, max_length=4, block_ngrams=1))[0].tokens
        array([1, 2])
    """
    return write(decoder, features, rules, lambda allowed, rows: np.argmax(allowed, axis=1).astype(np.int64))
