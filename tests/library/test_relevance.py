"""A relevance of 0.8 means that four of five are right."""

import numpy as np
import pytest

from seetell.library.search.relevance import DEFAULT, Calibration, by_words, combined, fit, judge_by_words, standardised


def pairs(seed: int, frequent: float = 0.05, count: int = 40_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of matching pairs lie higher; and questions differ in how near they are to everything."""
    random = np.random.default_rng(seed)
    matches = random.random(count) < frequent
    base = random.normal(0, 0.2, count)
    z = np.where(matches, random.normal(3.0, 1.0, count), random.normal(0.0, 1.0, count))
    return base + 0.1 * z, z, matches


def error(p: np.ndarray, matches: np.ndarray) -> float:
    """The expected calibration error, over ten bins."""
    bins = np.minimum((p * 10).astype(int), 9)
    return sum(
        (bins == each).mean() * abs(p[bins == each].mean() - matches[bins == each].mean())
        for each in range(10)
        if (bins == each).any()
    )


@pytest.mark.parametrize("frequent", [0.02, 0.2])
def test_probabilities_are_frequencies(frequent: float) -> None:
    fitted = fit(*pairs(0, frequent))
    s, z, matches = pairs(1, frequent)
    # mean 0 and deviation 1 leave z as it is; s enters by itself
    odds = fitted.similarity * s + fitted.outstanding * z + fitted.constant + np.log(fitted.prior / (1 - fitted.prior))
    p = 1 / (1 + np.exp(-odds))
    assert error(p, matches) < 0.01
    confident = p > 0.8
    assert matches[confident].mean() == pytest.approx(p[confident].mean(), abs=0.05)
    # The truth is known: log odds = 3 z − 4.5 + log prior odds, and s adds nothing to z.
    assert fitted.outstanding == pytest.approx(3.0, rel=0.25)
    assert fitted.prior == pytest.approx(frequent, rel=0.1)


def test_a_model_that_knows_nothing_is_sure_of_nothing() -> None:
    random = np.random.default_rng(0)
    s, z = random.normal(size=(2, 20_000))
    matches = random.random(20_000) < 0.05
    fitted = fit(s, z, matches)
    p = fitted.probability(np.linspace(-3, 3, 50), 0.0, 1.0)
    assert p.max() < 0.15
    backwards = fit(-s - matches, -z - 2 * matches, matches)
    assert backwards.similarity == backwards.outstanding == 0


def test_separable_pairs_do_not_run_away() -> None:
    matches = np.arange(200) < 40
    fitted = fit(matches * 1.0, matches * 5.0, matches)
    assert np.isfinite([fitted.similarity, fitted.outstanding, fitted.constant]).all()
    p = fitted.probability(np.array([0.0, 5.0]), 0.0, 1.0)
    assert p[0] < 0.1 < 0.9 < p[1]


def test_few_pairs_take_the_default() -> None:
    assert fit(np.ones(10), np.ones(10), np.arange(10) < 5) == DEFAULT
    p = DEFAULT.probability(np.array([0.0, 3.0, 6.0]), 0.0, 1.0)
    np.testing.assert_allclose(p, [1 / (1 + np.exp(7.5)), 0.5, 1 / (1 + np.exp(-7.5))], atol=1e-6)


def test_judgements_are_taken_as_frequent_as_they_are() -> None:
    s, z, matches = pairs(3, 0.5, 2_000)
    fitted = fit(s, z, matches, "judged")
    assert (fitted.how, fitted.prior, fitted.pairs) == ("judged", 0.5, 2_000)
    odds = fitted.similarity * s + fitted.outstanding * z + fitted.constant
    assert error(1 / (1 + np.exp(-odds)), matches) < 0.05
    assert Calibration.from_json(fitted.to_json()) == fitted


def test_texts_judge_pairs_by_their_words() -> None:
    texts = [frozenset(text.split()) for text in ("dog runs grass", "dog runs grass fast", "dog sleeps", "car road")]
    matching, counted = judge_by_words(texts)
    share = [[len(a & b) / len(a | b) for b in texts] for a in texts]
    assert matching.tolist() == [[each >= 0.6 for each in row] for row in share]
    assert counted.tolist() == [[each >= 0.6 or each < 0.2 for each in row] for row in share]


def test_words_and_embedding_together() -> None:
    assert by_words(1, 1) == 0.9
    assert by_words(0, 1) == 0.5
    assert by_words(0.5, 0.5) == pytest.approx(0.9 / 8)
    np.testing.assert_allclose(combined(np.array([0.0, 0.5, 1.0]), np.array([0.9, 0.5, 0.0])), [0.9, 0.75, 1.0])
    assert standardised(np.array([1.0, 2.0]), 1.0, 0.0).tolist() == [0, 0]
