"""Beam search against exhaustive search, against a slow one, and against itself one image at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.toy_models import END, START, Recurrent, exhaustive, lawful, slow_beam
from seetell.decoding import Decoded, Rules, beam_search, greedy
from seetell.decoding.beam import best_continuations
from seetell.errors import SeetellError

RULES = st.builds(
    Rules,
    start=st.just(START),
    end=st.just(END),
    max_length=st.integers(2, 4),
    min_length=st.integers(0, 2),
    forbidden=st.sampled_from([(), (2,)]),
    block_ngrams=st.integers(0, 2),
)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 1.5])


def pairs(found: list[Decoded]) -> list[tuple[float, tuple[int, ...]]]:
    return [(each.score, tuple(each.tokens.tolist())) for each in found]


def same(found: list[Decoded], expected: list[tuple[float, tuple[int, ...]]]) -> None:
    assert [tokens for _, tokens in pairs(found)] == [tokens for _, tokens in expected]
    assert [score for score, _ in pairs(found)] == pytest.approx([score for score, _ in expected])


@given(seed=st.integers(0, 50), rules=RULES, alpha=ALPHAS)
@settings(deadline=None, max_examples=25)
def test_a_beam_that_holds_everything_finds_the_best_there_is(seed: int, rules: Rules, alpha: float) -> None:
    model = Recurrent(words=5, seed=seed)
    features = model.features(2)
    found = beam_search(model, features, rules, beam=5**rules.max_length, alpha=alpha, n_best=6)
    for feature, best in zip(features, found, strict=True):
        same(best, exhaustive(model, feature, rules, alpha)[:6])


@given(seed=st.integers(0, 100), rules=RULES, alpha=ALPHAS, beam=st.integers(1, 4), data=st.data())
@settings(deadline=None, max_examples=40)
def test_it_finds_what_the_slow_search_finds(
    seed: int, rules: Rules, alpha: float, beam: int, data: st.DataObject
) -> None:
    """The slow one never stops early: so stopping early loses nothing."""
    n_best = data.draw(st.integers(1, beam))
    model = Recurrent(words=6, seed=seed, sharpness=1.0)
    features = model.features(3)
    found = beam_search(model, features, rules, beam=beam, alpha=alpha, n_best=n_best)
    for feature, best in zip(features, found, strict=True):
        same(best, slow_beam(model, feature, rules, beam, alpha)[:n_best])


@given(seed=st.integers(0, 50), rules=RULES, alpha=ALPHAS, token=st.integers(2, 4))
@settings(deadline=None, max_examples=25)
def test_of_the_sequences_with_a_token_it_finds_the_best_there_is(
    seed: int, rules: Rules, alpha: float, token: int
) -> None:
    model = Recurrent(words=5, seed=seed)
    features = model.features(2)
    required = np.array([[token, 2], [3, token]])
    found = beam_search(model, features, rules, beam=5**rules.max_length, alpha=alpha, n_best=6, required=required)
    for feature, best, word in zip(np.repeat(features, 2, axis=0), found, required.ravel().tolist(), strict=True):
        same(best, [each for each in exhaustive(model, feature, rules, alpha) if word in each[1]][:6])


@given(seed=st.integers(0, 100), rules=RULES, alpha=ALPHAS, beam=st.integers(1, 4), token=st.integers(2, 5))
@settings(deadline=None, max_examples=40)
def test_a_narrow_beam_with_a_token_finds_what_the_slow_search_finds(
    seed: int, rules: Rules, alpha: float, beam: int, token: int
) -> None:
    model = Recurrent(words=6, seed=seed, sharpness=1.0)
    features = model.features(3)
    found = beam_search(model, features, rules, beam=beam, alpha=alpha, required=np.full((3, 1), token))
    for feature, best in zip(features, found, strict=True):
        same(best, slow_beam(model, feature, rules, beam, alpha, required=token)[:1])


@pytest.mark.parametrize("required", [None, np.arange(50, 59)[:, None]])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_a_batch_is_decoded_as_its_images_one_by_one(alpha: float, required: np.ndarray | None) -> None:
    model = Recurrent(words=5000, seed=3)  # large enough for the groups of a large vocabulary
    features = model.features(9)
    rules = Rules(START, END, max_length=12, block_ngrams=2)
    together = beam_search(model, features, rules, beam=3, alpha=alpha, n_best=2, required=required)
    for image, best in enumerate(together):
        [alone] = beam_search(
            model,
            features[image : image + 1],
            rules,
            beam=3,
            alpha=alpha,
            n_best=2,
            required=None if required is None else required[image : image + 1],
        )
        for one, other in zip(best, alone, strict=True):
            np.testing.assert_array_equal(one.tokens, other.tokens)
            np.testing.assert_array_equal(one.token_log_probabilities, other.token_log_probabilities)
            np.testing.assert_array_equal(one.attention, other.attention)
            assert one.score == other.score


def test_probabilities_attention_and_gate_belong_to_their_tokens() -> None:
    model = Recurrent(words=30, seed=5)
    features = model.features(6)
    rules = Rules(START, END, max_length=7)
    for feature, best in zip(features, beam_search(model, features, rules, beam=4, alpha=1.0, n_best=4), strict=True):
        assert len(best) == 4
        for found in best:
            tokens = tuple(found.tokens.tolist())
            logs, weights, gates = model.follow(feature, (*tokens, END))
            assert found.ended
            assert found.token_log_probabilities.tolist() == pytest.approx(logs)
            assert found.log_probability == pytest.approx(sum(logs))
            assert found.score == pytest.approx(sum(logs) / len(logs))
            np.testing.assert_allclose(found.attention, weights[:-1])
            np.testing.assert_allclose(found.gate, gates[:-1])


def test_images_that_are_done_leave_the_batch() -> None:
    model = Recurrent(words=6, seed=1, sharpness=3.0)
    rules = Rules(START, END, max_length=30)
    found = beam_search(model, model.features(20), rules, beam=3)
    assert model.rows_seen[0] == 20
    assert model.rows_seen[1] <= 60
    assert model.rows_seen == [20, *sorted(model.rows_seen[1:], reverse=True)]
    assert model.rows_seen[-1] < 60
    assert all(best for best in found)


@given(seed=st.integers(0, 200))
@settings(deadline=None, max_examples=30)
def test_one_beam_without_normalisation_is_greedy(seed: int) -> None:
    model = Recurrent(words=8, seed=seed)
    features = model.features(4)
    rules = Rules(START, END, max_length=6)
    for [one], other in zip(beam_search(model, features, rules, beam=1), greedy(model, features, rules), strict=True):
        assert one.tokens.tolist() == other.tokens.tolist()
        assert one.log_probability == pytest.approx(other.log_probability)


def test_with_the_greedy_sequence_included_it_never_does_worse() -> None:
    rules, lost = Rules(START, END, max_length=8, block_ngrams=1), 0
    for seed in range(60):
        model = Recurrent(words=9, seed=seed, sharpness=1.0)
        features = model.features(5)
        plain = beam_search(model, features, rules, beam=2, n_best=2)
        both = beam_search(model, features, rules, beam=2, n_best=2, include_greedy=True)
        for alone, better, base in zip(plain, both, greedy(model, features, rules), strict=True):
            lost += alone[0].log_probability < base.log_probability - 1e-9
            assert better[0].log_probability >= base.log_probability - 1e-9
            assert len(better) == 2
            assert better[0].score >= better[1].score
    assert lost > 0  # plain beam search does lose the greedy sequence at times


@given(seed=st.integers(0, 500), rules=RULES, beam=st.integers(1, 6))
@settings(deadline=None, max_examples=40)
def test_the_rules_are_kept(seed: int, rules: Rules, beam: int) -> None:
    model = Recurrent(words=7, seed=seed, sharpness=0.5)
    for best in beam_search(model, model.features(3), rules, beam=beam, n_best=beam):
        assert best
        assert all(lawful(tuple(found.tokens.tolist()), rules) for found in best)
        assert len({tuple(found.tokens.tolist()) for found in best}) == len(best)


def test_where_nothing_may_follow_the_sequence_is_cut() -> None:
    class Endless(Recurrent):
        def step(self, tokens: np.ndarray, state: np.ndarray):
            log_probs, state, looked = super().step(tokens, state)
            log_probs[:, END] = -np.inf
            return log_probs, state, looked

    model = Endless(words=5)
    [[found]] = beam_search(model, model.features(1), Rules(START, END, max_length=4), beam=3)
    assert not found.ended
    assert len(found.tokens) == len(found.token_log_probabilities) == 4
    # Two words without repetition, and no end: nothing is left for a third place.
    [[found]] = beam_search(model, model.features(1), Rules(START, END, 4, forbidden=(2,), block_ngrams=1), beam=3)
    assert sorted(found.tokens.tolist()) == [3, 4]


def test_the_model_may_have_no_attention_and_read_only_probabilities() -> None:
    class Constant:
        def start(self, features: list[str]) -> int:
            return len(features)

        def step(self, tokens: np.ndarray, state: int):
            return np.broadcast_to(np.log([0.1, 0.3, 0.6], dtype=np.float32), (len(tokens), 3)), state, None

        def select(self, state: int, rows: np.ndarray) -> int:
            return len(rows)

    [[found], _] = beam_search(Constant(), ["one", "two"], Rules(START, END, max_length=3), beam=2, alpha=1.0)
    assert found.attention is None
    assert found.gate is None
    assert found.tokens.tolist() == [2, 2, 2]
    assert found.log_probability == pytest.approx(np.log([0.6, 0.6, 0.6, 0.3]).sum(), rel=1e-6)


@given(
    words=st.sampled_from([3, 50, 5000, 10007]),
    slots=st.integers(1, 6),
    count=st.integers(1, 12),
    coarse=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=60)
def test_the_best_continuations_are_those_that_sorting_finds(
    words: int, slots: int, count: int, coarse: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    log_probs = rng.normal(size=(2, slots, words)).astype(np.float32)
    log_probs[rng.random(log_probs.shape) < 0.2] = -np.inf
    if coarse:
        log_probs = np.round(log_probs)  # many ties
    total = rng.normal(size=(2, slots))
    value, slot, token = best_continuations(log_probs, total, count)
    every = log_probs + total[:, :, None]
    np.testing.assert_array_equal(value, -np.sort(-every.reshape(2, -1), axis=1)[:, :count])
    np.testing.assert_array_equal(value, every[np.arange(2)[:, None], slot, token])
    for row in range(2):
        assert len(set(zip(slot[row].tolist(), token[row].tolist(), strict=True))) == value.shape[1]


def test_mistakes_are_named() -> None:
    model = Recurrent()
    assert beam_search(model, model.features(0), Rules(START, END)) == []
    with pytest.raises(ValueError, match="n_best"):
        beam_search(model, model.features(1), Rules(START, END), beam=2, n_best=3)
    model.out[3] = np.nan
    with pytest.raises(SeetellError, match="diverged"):
        beam_search(model, model.features(1), Rules(START, END))
