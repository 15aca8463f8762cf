"""Sampling: tokens drawn by their probabilities, with a temperature, from all tokens or the most probable ones."""

from typing import Any

import numpy as np

from seetell.decoding.protocol import Decoder, Floats, Rules, State, Tokens
from seetell.decoding.result import Decoded
from seetell.decoding.stepwise import Rows, write

_LIKELY = 256  # the most probable tokens, among which top-p looks before it sorts them all


def sample(
    decoder: Decoder[State],
    features: Any,
    rules: Rules,
    *,
    samples: int = 1,
    temperature: float = 1.0,
    top_p: float = 1.0,
    seed: int | np.random.Generator = 0,
) -> list[list[Decoded]]:
    """Sample sequences: a list of `samples` of them per image.

    The returned probabilities are the model's own, whatever the temperature, as a policy gradient requires. For the
    same reason a sequence that reaches the maximum length is cut there (`ended` is False) and not forced to end.

    Args:
        decoder: the model.
        features: one row per image, passed to `Decoder.start`.
        rules: what a sequence may contain.
        samples: how many sequences per image.
        temperature: log-probabilities are divided by it; below 1 the probable becomes more probable.
        top_p: draw from the smallest set of most probable tokens that together have this probability. Holtzman et al.,
            *The curious case of neural text degeneration* (2020).
        seed: the same seed gives the same sequences.

    Example:
        >>> import numpy as np
        >>> from seetell.decoding import MarkovChain, Rules
        >>> chain = MarkovChain([[0, 0.6, 0.4, 0], [0, 0.4, 0.3, 0.3], [0, 0, 0.1, 0.9], [0, 0, 0, 1]])
        >>> [drawn] = sample(chain, np.zeros(1), Rules(start=0, end=3), samples=3, seed=1)
        >>> [each.tokens.tolist() for each in drawn]
        [[1], [2], [1, 2]]
    """
    if temperature <= 0 or not 0 < top_p <= 1 or samples < 1:
        raise ValueError("temperature and samples must be positive, top_p above 0 and at most 1")
    random = np.random.default_rng(seed)
    total = len(features) * samples

    def choose(allowed: Floats, rows: Rows) -> Tokens:
        # Numbers are drawn for all rows, also those that have ended: a row's sample does not depend on its neighbours.
        drawn = random.random(total)[rows]
        weights = np.exp((allowed - allowed.max(axis=1, keepdims=True).clip(min=-1e30)) / temperature)
        if top_p < 1:
            weights = _nucleus(weights, top_p)
        return _draw(weights, drawn)

    found = write(decoder, features, rules, choose, copies=samples, cut=True)
    return [found[start : start + samples] for start in range(0, total, samples)]


def _draw(weights: Floats, drawn: Floats) -> Tokens:
    """The token into whose interval of the cumulative weights each number in [0, 1) falls; never one of weight 0.

    First the block of tokens it falls into, then the token: no running sum over the whole vocabulary.
    """
    words = weights.shape[1]
    size = max(1, round(words**0.5))
    starts = np.arange(0, words, size)
    blocks = np.add.reduceat(weights, starts, axis=1, dtype=np.float64)
    block, left = _stretch(blocks, drawn * blocks.sum(axis=1))
    columns = starts[block][:, None] + np.arange(size)
    inside = np.where(columns < words, np.take_along_axis(weights, columns.clip(max=words - 1), axis=1), 0)
    token, _ = _stretch(inside, left)
    return starts[block] + token


def _stretch(lengths: Floats, point: Floats) -> tuple[Tokens, Floats]:
    """The interval, of those laid end to end, into which a point falls, and how far; never one of length 0."""
    reach = np.cumsum(lengths, axis=1, dtype=np.float64)
    point = np.minimum(point, np.nextafter(reach[:, -1], 0))  # sums round: never past the end
    index = np.argmax(reach > point[:, None], axis=1)
    rows = np.arange(len(lengths))
    return index, point - (reach[rows, index] - lengths[rows, index])


def _nucleus(weights: Floats, top_p: float) -> Floats:
    """The weights with 0 for all but the most probable tokens that together just reach `top_p`.

    Tokens as probable as the last of these are kept with it.
    """
    words = weights.shape[1]
    wanted = top_p * weights.sum(axis=1, dtype=np.float64)
    least = np.zeros(len(weights), dtype=weights.dtype)
    rows, number = np.arange(len(weights)), min(_LIKELY, words)
    while len(rows):
        top = np.partition(weights[rows], words - number, axis=1)[:, words - number :]
        top = np.sort(top, axis=1)[:, ::-1]
        reached = np.cumsum(top, axis=1, dtype=np.float64)
        reached[:, -1] = np.inf if number == words else reached[:, -1]  # sums round: all of them are enough
        enough = reached[:, -1] >= wanted[rows]
        at = np.argmax(reached >= wanted[rows, None], axis=1)
        least[rows[enough]] = top[enough, at[enough]]
        rows, number = rows[~enough], words
    return np.where(weights >= least[:, None], weights, 0)
