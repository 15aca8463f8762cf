"""Generating one token per row at a time: what greedy decoding and sampling share."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seetell.decoding.protocol import Decoder, Floats, Rules, State, Tokens, attention_of
from seetell.decoding.result import Decoded

Rows = npt.NDArray[np.intp]
Choose = Callable[[Floats, Rows], Tokens]
"""Allowed log-probabilities (R, V), and which of all rows these are -> a token for each."""


class _Looked(NamedTuple):
    rows: Rows
    weights: Floats | None
    gate: Floats | None


def write(
    decoder: Decoder[State], features: Any, rules: Rules, choose: Choose, *, copies: int = 1, cut: bool = False
) -> list[Decoded]:
    """Generate `copies` sequences per image, those of an image next to each other; rows that end leave the batch.

    Args:
        decoder: the model.
        features: one row per image.
        rules: what a sequence may contain.
        choose: picks a token for each row.
        copies: how many sequences per image.
        cut: leave sequences of the maximum length without an end, instead of ending them whatever its probability.
    """
    images = len(features)
    if not images:
        return []
    state = decoder.start(features)
    if copies > 1:
        state = decoder.select(state, np.repeat(np.arange(images), copies))
    rows = np.arange(images * copies)
    tokens = np.full((len(rows), rules.max_length + 1), rules.end, dtype=np.int64)
    logs = np.zeros(tokens.shape)
    lengths, ended = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=bool)
    looked: list[_Looked] = []
    last = np.full(len(rows), rules.start, dtype=np.int64)
    for done in range(rules.max_length + (not cut)):
        log_probs, state, attention = decoder.step(last, state)
        looked.append(_Looked(rows, *attention_of(attention)))
        allowed = rules.apply(log_probs, done, tokens[rows, :done])
        last = choose(allowed, rows)
        logs[rows, done] = allowed[np.arange(len(rows)), last]
        possible = logs[rows, done] > -np.inf  # where nothing is allowed, the sequence stops short of it
        ended[rows] = possible & (last == rules.end)
        going = np.flatnonzero(possible & (last != rules.end))
        tokens[rows[going], done] = last[going]
        lengths[rows[going]] += 1
        if not len(going):
            break
        if len(going) < len(rows):
            state, rows, last = decoder.select(state, going), rows[going], last[going]
    weights = _by_row(looked, len(tokens), [step.weights for step in looked])
    gate = _by_row(looked, len(tokens), [step.gate for step in looked])
    found = []
    for row, length in enumerate(lengths.tolist()):
        log = logs[row, : length + int(ended[row])].copy()
        found.append(
            Decoded(
                tokens=tokens[row, :length].copy(),
                log_probability=float(log.sum()),
                token_log_probabilities=log,
                score=float(log.sum()),
                ended=bool(ended[row]),
                attention=None if weights is None else weights[row, :length].copy(),
                gate=None if gate is None else gate[row, :length].copy(),
            )
        )
    return found


def _by_row(looked: list[_Looked], rows: int, values: list[Floats | None]) -> Floats | None:
    """What was collected step by step, as (rows, steps, …)."""
    first = values[0]
    if first is None:
        return None
    table = np.zeros((rows, len(looked), *first.shape[1:]), dtype=first.dtype)
    for index, (step, value) in enumerate(zip(looked, values, strict=True)):
        table[step.rows, index] = value
    return table
