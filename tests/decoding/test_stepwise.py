"""Greedy decoding against a loop; sampling against the exact distribution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.toy_models import END, START, Recurrent, all_sequences, lawful, slow_greedy
from seetell.decoding import Rules, greedy, sample
from seetell.decoding.sampling import _draw, _nucleus

RULES = st.builds(
    Rules,
    start=st.just(START),
    end=st.just(END),
    max_length=st.integers(1, 5),
    min_length=st.integers(0, 1),
    forbidden=st.sampled_from([(), (2,)]),
    block_ngrams=st.integers(0, 2),
)


@given(seed=st.integers(0, 100), rules=RULES)
@settings(deadline=None, max_examples=40)
def test_greedy_takes_the_best_token_every_time(seed: int, rules: Rules) -> None:
    model = Recurrent(words=6, seed=seed)
    features = model.features(4)
    for feature, found in zip(features, greedy(model, features, rules), strict=True):
        tokens = slow_greedy(model, feature, rules)
        logs, weights, gates = model.follow(feature, (*tokens, END))
        assert tuple(found.tokens.tolist()) == tokens
        assert found.ended
        assert found.token_log_probabilities.tolist() == pytest.approx(logs)
        np.testing.assert_allclose(found.attention, weights[: len(tokens)])
        np.testing.assert_allclose(found.gate, gates[: len(tokens)])


def test_rows_that_end_leave_the_batch() -> None:
    model = Recurrent(words=5, seed=0, sharpness=3.0)
    found = greedy(model, model.features(30), Rules(START, END, max_length=20))
    lengths = [len(each.tokens) for each in found]
    assert model.rows_seen == [sum(length >= done for length in lengths) for done in range(max(lengths) + 1)]
    assert len(set(lengths)) > 2


def test_no_images_no_sequences() -> None:
    model = Recurrent()
    assert greedy(model, model.features(0), Rules(START, END)) == []
    assert sample(model, model.features(0), Rules(START, END)) == []


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_sequences_are_drawn_as_often_as_they_are_probable(temperature: float) -> None:
    model = Recurrent(words=4, seed=2, sharpness=1.0)
    rules = Rules(START, END, max_length=2)
    features = model.features(2)
    drawn = sample(model, features, rules, samples=20_000, temperature=temperature, seed=7)
    for feature, some in zip(features, drawn, strict=True):
        found = [tuple(each.tokens.tolist()) for each in some]
        for tokens in all_sequences(4, rules):
            ended = (*tokens, END)[: rules.max_length]
            probability = 1.0
            for index, token in enumerate(ended):
                options = [t for t in range(4) if t != START]
                logs = {t: model.follow(feature, (*ended[:index], t))[0][-1] / temperature for t in options}
                probability *= np.exp(logs[token]) / sum(np.exp(list(logs.values())))
            spread = np.sqrt(probability * (1 - probability) / len(found))
            assert found.count(tokens) / len(found) == pytest.approx(probability, abs=5 * spread + 1e-9)


def test_samples_carry_the_models_own_probabilities() -> None:
    model = Recurrent(words=9, seed=4)
    features = model.features(3)
    rules = Rules(START, END, max_length=4, forbidden=(2,))
    for feature, some in zip(features, sample(model, features, rules, samples=8, temperature=2.0), strict=True):
        assert len({tuple(each.tokens.tolist()) for each in some}) > 1
        for found in some:
            tokens = tuple(found.tokens.tolist())
            logs, weights, _ = model.follow(feature, (*tokens, END) if found.ended else tokens)
            assert found.ended == (len(tokens) < 4)
            assert found.token_log_probabilities.tolist() == pytest.approx(logs)
            assert found.log_probability == pytest.approx(sum(logs))
            np.testing.assert_allclose(found.attention, weights[: len(tokens)].reshape(-1, 3))


def test_the_seed_decides() -> None:
    model = Recurrent(words=30, seed=4, sharpness=0.3)
    rules = Rules(START, END, max_length=6)

    def drawn(seed: int) -> list[list[int]]:
        return [each.tokens.tolist() for [each] in sample(model, model.features(5), rules, seed=seed)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_an_images_luck_does_not_hang_on_its_neighbours() -> None:
    model = Recurrent(words=12, seed=6, sharpness=1.0)
    rules = Rules(START, END, max_length=8)
    features = model.features(6)
    others = features.copy()
    others[:3] = -others[:3]
    one, other = (sample(model, some, rules, samples=3, seed=5) for some in (features, others))
    lengths = [[len(each.tokens) for some in drawn[:3] for each in some] for drawn in (one, other)]
    assert lengths[0] != lengths[1]
    for mine, same in zip(one[3:], other[3:], strict=True):
        assert [each.tokens.tolist() for each in mine] == [each.tokens.tolist() for each in same]


@given(seed=st.integers(0, 300), rules=RULES, top_p=st.sampled_from([0.3, 0.9, 1.0]))
@settings(deadline=None, max_examples=40)
def test_samples_keep_the_rules(seed: int, rules: Rules, top_p: float) -> None:
    model = Recurrent(words=7, seed=seed, sharpness=0.5)
    for some in sample(model, model.features(2), rules, samples=4, seed=seed, top_p=top_p):
        assert all(lawful(tuple(found.tokens.tolist()), rules) for found in some)


@given(
    words=st.sampled_from([2, 7, 300, 1000]), top_p=st.floats(0.01, 0.99), flat=st.booleans(), seed=st.integers(0, 99)
)
@settings(deadline=None, max_examples=60)
def test_the_nucleus_is_the_smallest_set_that_is_probable_enough(
    words: int, top_p: float, flat: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random((3, words)) + (1.0 if flat else 0.0)
    for row, kept in zip(weights, _nucleus(weights, top_p), strict=True):
        chosen: list[int] = []
        for token in sorted(range(words), key=lambda t: -row[t]):
            if sum(row[chosen]) >= top_p * row.sum():
                break
            chosen.append(token)
        assert np.flatnonzero(kept).tolist() == sorted(chosen)
        np.testing.assert_array_equal(kept[chosen], row[chosen])


def test_top_p_near_nothing_is_greedy() -> None:
    model = Recurrent(words=20, seed=9)
    rules = Rules(START, END, max_length=5)
    features = model.features(4)
    for [drawn], best in zip(sample(model, features, rules, top_p=1e-9), greedy(model, features, rules), strict=True):
        assert drawn.tokens.tolist() == best.tokens.tolist()


@given(words=st.integers(1, 40), seed=st.integers(0, 99))
def test_a_token_is_drawn_where_the_summed_weights_pass_the_number(words: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, drawn = rng.integers(0, 4, size=(9, words)) + 1e-3, rng.random(9)
    expected = [
        int(np.searchsorted(np.cumsum(row), u * row.sum(), "right")) for row, u in zip(weights, drawn, strict=True)
    ]
    assert _draw(weights, drawn).tolist() == expected


def test_impossible_tokens_are_never_drawn() -> None:
    weights = np.zeros((4, 10), dtype=np.float32)
    weights[:, 3], weights[:, 8] = 0.25, 0.75
    drawn = np.array([0.0, 0.2499, 0.26, np.nextafter(1, 0)])
    assert _draw(weights, drawn).tolist() == [3, 3, 8, 8]


def test_mistakes_are_named() -> None:
    model = Recurrent()
    with pytest.raises(ValueError, match="temperature"):
        sample(model, model.features(1), Rules(START, END), temperature=0)
    with pytest.raises(ValueError, match="top_p"):
        sample(model, model.features(1), Rules(START, END), top_p=0)
