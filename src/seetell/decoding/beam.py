"""Beam search over many images at once.

Every image has `beam` live hypotheses. At each step the model predicts, in one call, the next token of all of them;
of all continuations of an image the `beam` best stay alive. A continuation with the end that is among the `beam` best
is finished, and kept if it is among the image's `n_best` finished ones. An image is done, and leaves the batch, as
soon as no live hypothesis can still overtake the last of those it keeps.

Sequences are ranked by

    score = log-probability / length ** alpha

with the end counted in the length; alpha = 0 ranks by probability alone, which favours short sequences. While a
hypothesis grows, its log-probability can only fall and its length only reach `max_length` + 1: hence the most it can
still score, and a search that stops early finds exactly what it would have found otherwise.

Sequences can be required to contain a token. There are then two beams per image, of hypotheses with the token and
without it, so that the token, however unlikely, can occur where it is most probable (Anderson et al., *Guided open
vocabulary image captioning with constrained beam search*, 2017); only those with it may end.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from seetell.decoding.greedy import greedy
from seetell.decoding.protocol import Decoder, Floats, Rules, State, Tokens, attention_of
from seetell.decoding.result import Decoded
from seetell.decoding.trace import BeamStep, Finished, Integers
from seetell.errors import SeetellError

_Continuations = tuple[npt.NDArray[np.float64], Integers, Tokens]  # log-probabilities, slots, tokens; (A, C) each
_SMALL = 4096  # up to this many continuations of an image are sorted directly


def beam_search(
    decoder: Decoder[State],
    features: Any,
    rules: Rules,
    *,
    beam: int = 5,
    alpha: float = 0.0,
    n_best: int = 1,
    include_greedy: bool = False,
    required: Tokens | None = None,
) -> list[list[Decoded]]:
    """Find the best sequences of each image, best first: `n_best` of them, or fewer if there are no more.

    Args:
        decoder: the model.
        features: one row per image, passed to `Decoder.start`.
        rules: what a sequence may contain.
        beam: how many hypotheses per image stay alive at each step.
        alpha: the length exponent: 0 ranks by log-probability, 1 by the mean log-probability of a token.
        n_best: how many sequences to keep per image; at most `beam`.
        include_greedy: let the greedy sequence compete as well. Beam search may drop it half-way for hypotheses that
            turn out worse; with this, its best sequence never scores below greedy decoding.
        required: tokens for each image (P, K), each of which gets a search of its own: the best sequences with an
            image's first token come first, those with its second token next, P · K lists in all.

    Example:
        >>> import numpy as np
        >>> from seetell.decoding import MarkovChain, Rules
        >>> chain = MarkovChain([[0, 0.6, 0.4, 0], [0, 0.4, 0.3, 0.3], [0, 0, 0.1, 0.9], [0, 0, 0, 1]])
        >>> [best] = beam_search(chain, np.zeros(1), Rules(start=0, end=3), beam=3, n_best=2)
        >>> [(each.tokens.tolist(), round(each.score, 2)) for each in best]
        [([2], -1.02), ([1], -1.71)]
    """
    if not 1 <= n_best <= beam or alpha < 0:
        raise ValueError("n_best must be from 1 to beam, and alpha 0 or more")
    if include_greedy and required is not None:
        raise ValueError("include_greedy and required exclude each other")
    images = len(features)
    if not images:
        return []
    state = decoder.start(features)
    if required is not None:  # two rows for each search, of which one will have the token
        state = decoder.select(state, np.repeat(np.arange(images), 2 * required.shape[1]))
        required = required.ravel()
        images = len(required)
    found = _search(decoder, state, images, rules, beam, alpha, n_best, required)
    if include_greedy:
        for best, extra in zip(found, greedy(decoder, features, rules), strict=True):
            if extra.ended and all(extra.tokens.tolist() != other.tokens.tolist() for other in best):
                length = len(extra.tokens) + 1
                best.append(replace(extra, score=extra.log_probability / length**alpha))
                best.sort(key=lambda each: -each.score)
                del best[n_best:]
    return found


def _search(
    decoder: Decoder[State],
    state: State,
    images: int,
    rules: Rules,
    beam: int,
    alpha: float,
    n_best: int,
    required: Tokens | None,
) -> list[list[Decoded]]:
    live = np.arange(images)  # the images still in the batch, (A,)
    total = np.zeros((images, 1))  # log-probability of their hypotheses, (A, S); −∞: an empty slot
    if required is not None:  # the first half of the slots has the token, the other not
        total = np.tile([-np.inf, 0.0], (images, 1))
    last = np.full(total.size, rules.start, dtype=np.int64)
    written = np.empty((total.size, 0), dtype=np.int64) if rules.block_ngrams else None
    finished, steps = Finished(images, n_best), list[BeamStep]()
    farthest = (rules.max_length + 1) ** alpha
    for done in range(rules.max_length + 1):
        log_probs, state, attention = decoder.step(last, state)
        log_probs = rules.apply(log_probs, done, written)
        slots = total.shape[1]
        shaped = log_probs.reshape(len(live), slots, -1)
        without: list[_Continuations] = []  # the beam of those without the required token
        if required is None:
            value, parent, token = best_continuations(shaped, total, 2 * beam)
        else:
            (value, parent, token), *without = _required(shaped, total, required[live], rules.end, beam)

        # A hypothesis has one end: of the 2 · beam best continuations, at least `beam` do not end.
        end = token == rules.end
        now = end & (np.arange(token.shape[1]) < beam)
        image = np.arange(len(live))[:, None]
        finished.add(
            live, done, np.where(now, value, -np.inf) / (done + 1) ** alpha, parent, shaped[image, parent, token]
        )
        on = np.argsort(end, axis=1, kind="stable")[:, :beam]
        value, parent, token, end = (np.take_along_axis(each, on, 1) for each in (value, parent, token, end))
        value[end] = -np.inf
        tiers = [_filled(tier, beam) for tier in ((value, parent, token), *without)]
        value, parent, token = (np.concatenate(each, axis=1) for each in zip(*tiers, strict=True))
        log = shaped[image, parent, token]

        best = value.max(axis=1)
        stuck = np.isinf(best) & np.isinf(finished.score[live, 0])
        if required is None and stuck.any():  # nothing may follow, not even the end: keep what there is
            _cut(finished, live[stuck], done, total[stuck], alpha)
        going = np.flatnonzero(best / farthest > finished.score[live, -1])
        if not len(going):
            break
        live, total, parent, token, log = live[going], value[going], parent[going], token[going], log[going]
        rows = (going[:, None] * slots + parent).ravel()
        weights, gate = (
            None if x is None else x[rows].reshape(*parent.shape, *x.shape[1:]) for x in attention_of(attention)
        )
        steps.append(BeamStep(live, parent, token, log, weights, gate))
        state, last = decoder.select(state, rows), token.ravel()
        if written is not None:
            written = np.concatenate([written[rows], last[:, None]], axis=1)
    return finished.read(steps)


def _required(
    log_probs: Floats, total: npt.NDArray[np.float64], required: Tokens, end: int, beam: int
) -> tuple[_Continuations, _Continuations]:
    """The best continuations of each image with its token, and the best without it, which cannot end."""
    half = total.shape[1] // 2
    image = np.arange(len(total))
    given = log_probs[image, half:, required] + total[:, half:]  # the token comes now, (A, half)
    value, parent, token = best_continuations(log_probs[:, :half], total[:, :half], 2 * beam)
    value = np.concatenate([value, given], axis=1)
    parent = np.concatenate([parent, np.broadcast_to(np.arange(half, 2 * half), given.shape)], axis=1)
    token = np.concatenate([token, np.broadcast_to(required[:, None], given.shape)], axis=1)
    order = np.argsort(-value, axis=1, kind="stable")[:, : 2 * beam]
    having = (value[image[:, None], order], parent[image[:, None], order], token[image[:, None], order])
    others = log_probs[:, half:].copy()
    others[image, :, required] = -np.inf
    others[:, :, end] = -np.inf
    lacking = best_continuations(others, total[:, half:], beam)
    return having, (lacking[0], lacking[1] + half, lacking[2])


def best_continuations(log_probs: Floats, total: npt.NDArray[np.float64], count: int) -> _Continuations:
    """The `count` best continuations of an image's hypotheses, best first.

    The columns of a large vocabulary are dealt into groups. The best continuations are in the groups with the best
    maxima: for all other groups only the maximum is computed, which is much faster than sorting.

    Args:
        log_probs: (A, S, V).
        total: log-probabilities of the hypotheses so far, (A, S).
        count: how many continuations per image.

    Returns:
        Log-probabilities, slots and tokens, (A, C) each; C is `count`, or all there are.
    """
    images, slots, words = log_probs.shape
    size = max(1, round((slots * words / count) ** 0.5))  # as many groups as columns in all chosen groups
    groups = words // size
    if slots * words <= _SMALL or slots * groups <= count:
        value, at = _best((log_probs + total[:, :, None]).reshape(images, -1), count)
        slot, token = np.divmod(at, words)
        return value, slot, token
    dealt = groups * size
    head, tail = log_probs[:, :, :dealt].reshape(images, slots, size, groups), log_probs[:, :, dealt:]
    _, group = _best((head.max(axis=2) + total[:, :, None]).reshape(images, -1), count)
    slot, column = np.divmod(group, groups)
    image = np.arange(images)[:, None]
    near = head[image, slot, :, column] + total[image, slot][:, :, None]  # (A, count, size)
    rest = tail + total[:, :, None]  # (A, S, words - dealt)
    value, at = _best(np.concatenate([near.reshape(images, -1), rest.reshape(images, -1)], axis=1), count)
    which, turn = np.divmod(at, size)
    in_tail = which >= count
    which[in_tail] = 0
    tail_slot, tail_column = np.divmod(at - count * size, max(1, words - dealt))
    return (
        value,
        np.where(in_tail, tail_slot, np.take_along_axis(slot, which, axis=1)),
        np.where(in_tail, dealt + tail_column, np.take_along_axis(column, which, axis=1) + turn * groups),
    )


def _best(values: npt.NDArray[np.float64], count: int) -> tuple[npt.NDArray[np.float64], Integers]:
    """The greatest values of each row and where they are, greatest first."""
    count = min(count, values.shape[1])
    at = np.argpartition(values, -count, axis=1)[:, -count:]
    found = np.take_along_axis(values, at, axis=1)
    if np.isnan(found).any():
        raise SeetellError(
            "the model's probabilities are not numbers: it has diverged",
            remedy="Train it again with a lower learning rate",
        )
    order = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(at, order, axis=1)


def _cut(finished: Finished, images: Integers, done: int, total: npt.NDArray[np.float64], alpha: float) -> None:
    """Keep the best hypothesis of images that can neither continue nor end."""
    slot = np.argmax(total, axis=1)[:, None]
    score = np.take_along_axis(total, slot, axis=1) / max(1, done) ** alpha
    finished.add(images, done, score, slot, np.full(slot.shape, np.nan))


def _filled(found: _Continuations, width: int) -> _Continuations:
    """Continuations padded to the width of the beam where a small vocabulary does not fill it."""
    value, slot, token = found
    missing = ((0, 0), (0, max(0, width - value.shape[1])))
    return np.pad(value, missing, constant_values=-np.inf), np.pad(slot, missing), np.pad(token, missing)
