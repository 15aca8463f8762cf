"""Confidences of labels against the exact probabilities of all label sequences."""

import numpy as np
import pytest

from helpers.toy_models import END, START, Recurrent, exhaustive
from seetell.decoding import Decoded, Rules, beam_search, label_confidences, step_confidences


def decoded(tokens: list[int], *logs: float) -> Decoded:
    return Decoded(np.array(tokens), sum(logs), np.array(logs), sum(logs), ended=True)


def test_confidences_are_exact_when_the_beams_hold_every_sequence() -> None:
    model = Recurrent(words=5, seed=8)
    rules = Rules(START, END, max_length=3, block_ngrams=1)
    [beams] = beam_search(model, model.features(1), rules, beam=60, n_best=60)
    every = exhaustive(model, model.features(1)[0], rules, alpha=0)
    assert len(beams) == len(every) == 1 + 3 + 6 + 6
    whole = sum(np.exp(log) for log, _ in every)
    expected = {label: sum(np.exp(log) for log, tokens in every if label in tokens) / whole for label in (2, 3, 4)}
    found = label_confidences(beams)
    assert found == pytest.approx(expected)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_a_worked_example() -> None:
    beams = [decoded([7, 4], *np.log([0.5, 1.0, 0.8])), decoded([7], *np.log([0.5, 0.2])), decoded([], np.log(0.1))]
    assert label_confidences(beams) == pytest.approx({7: 5 / 6, 4: 4 / 6})
    assert step_confidences(beams[0]) == pytest.approx({7: 0.5, 4: 1.0})


def test_improbable_beams_do_not_vanish_in_rounding() -> None:
    beams = [decoded([2], -2000.0), decoded([3], -2000.0 + np.log(3))]
    assert label_confidences(beams) == pytest.approx({3: 0.75, 2: 0.25})


def test_nothing_is_known_from_nothing() -> None:
    assert label_confidences([]) == {}
    assert label_confidences([decoded([2], -np.inf)]) == {}
