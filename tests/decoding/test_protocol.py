"""The rules, one by one."""

import numpy as np
import pytest

from seetell.decoding import Rules

FREE = np.log(np.full((1, 6), 1 / 6))


def allowed(rules: Rules, written: list[int]) -> list[int]:
    log_probs = rules.apply(FREE.copy(), len(written), np.array([written], dtype=np.int64))
    return np.flatnonzero(log_probs[0] > -np.inf).tolist()


def test_what_may_follow() -> None:
    assert allowed(Rules(0, 1), []) == [1, 2, 3, 4, 5]
    assert allowed(Rules(0, 1, forbidden=(4,)), [2]) == [1, 2, 3, 5]
    assert allowed(Rules(0, 1, min_length=2), [2]) == [2, 3, 4, 5]
    assert allowed(Rules(0, 1, min_length=2), [2, 2]) == [1, 2, 3, 4, 5]
    assert allowed(Rules(0, 1, max_length=2), [2, 2]) == [1]
    assert allowed(Rules(0, 1, block_ngrams=1), [2, 4]) == [1, 3, 5]
    assert allowed(Rules(0, 1, block_ngrams=2), [2, 3, 5, 2]) == [1, 2, 4, 5]
    assert allowed(Rules(0, 1, block_ngrams=3), [2, 3, 4, 2, 3]) == [1, 2, 3, 5]
    assert allowed(Rules(0, 1, block_ngrams=3), [2, 3]) == [1, 2, 3, 4, 5]


def test_probabilities_that_may_not_be_changed_are_left_alone() -> None:
    fixed = np.broadcast_to(FREE, (2, 6))
    changed = Rules(0, 1).apply(fixed, 0, None)
    assert np.isinf(changed[:, 0]).all()
    assert np.isfinite(fixed).all()


def test_rules_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="from 3 to 2"):
        Rules(0, 1, max_length=2, min_length=3)
    with pytest.raises(ValueError, match="end cannot be forbidden"):
        Rules(0, 1, forbidden=(1,))
    with pytest.raises(ValueError, match="block_ngrams"):
        Rules(0, 1, block_ngrams=-1)
