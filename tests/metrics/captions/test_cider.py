"""CIDEr against its formula, term by term."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seetell.errors import SeetellError
from seetell.metrics.captions.cider import Cider, CiderStatistics, cider
from seetell.metrics.captions.corpus import Corpus

SENTENCE = st.lists(st.sampled_from("abcd"), max_size=7)
REFERENCES = st.lists(st.lists(SENTENCE, min_size=1, max_size=3), min_size=1, max_size=4)

Gram = tuple[str, ...]


def grams(words: list[str], n: int) -> Counter[Gram]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def slow_cider(candidate: list[str], references: list[list[str]], corpus: list[list[list[str]]]) -> float:
    """The formula, with n-grams weighed by the references of `corpus`."""
    total = 0.0
    for reference in references:
        for n in range(1, 5):

            def vector(words: list[str], n: int = n) -> dict[Gram, float]:
                found = grams(words, n)
                images = {g: sum(any(g in grams(r, n) for r in group) for group in corpus) for g in found}
                return {g: c * (math.log(len(corpus)) - math.log(max(1, images[g]))) for g, c in found.items()}

            mine, theirs = vector(candidate), vector(reference)
            dot = sum(min(w, theirs.get(g, 0.0)) * theirs.get(g, 0.0) for g, w in mine.items())
            norms = math.hypot(*mine.values()) * math.hypot(*theirs.values())
            gap = max(0, len(candidate) - 1) - max(0, len(reference) - 1)
            total += (dot / norms if norms else 0.0) * math.exp(-(gap**2) / 72)
    return 100 * 10 * total / 4 / len(references)


@given(REFERENCES, st.data())
def test_every_score_is_that_of_the_formula(references: list[list[list[str]]], data: st.DataObject) -> None:
    candidates = data.draw(st.lists(SENTENCE, min_size=len(references), max_size=len(references)))
    expected = [slow_cider(c, r, references) for c, r in zip(candidates, references, strict=True)]
    assert cider(Corpus(candidates, references)).tolist() == pytest.approx(expected)


@given(REFERENCES, REFERENCES, st.data())
def test_statistics_may_come_from_other_captions(
    training: list[list[list[str]]], references: list[list[list[str]]], data: st.DataObject
) -> None:
    """As in self-critical training: several samples of an image, n-grams that no reference has."""
    samples = data.draw(
        st.lists(st.tuples(st.lists(st.sampled_from("abcdxy"), max_size=7), st.integers(0, len(references) - 1)))
    )
    scorer = Cider(references, CiderStatistics.of(training))
    found = scorer.scores([words for words, _ in samples], [image for _, image in samples])
    assert found.tolist() == pytest.approx([slow_cider(w, references[p], training) for w, p in samples])


def test_words_and_their_numbers_score_alike() -> None:
    rng = np.random.default_rng(0)
    numbered = [[rng.integers(0, 9, size=rng.integers(3, 9)).tolist() for _ in range(4)] for _ in range(30)]
    spelt = [[[f"word{token}" for token in sentence] for sentence in group] for group in numbered]
    by_number = Cider([group[1:] for group in numbered]).scores([group[0] for group in numbered])
    by_word = Cider([group[1:] for group in spelt]).scores([group[0] for group in spelt])
    assert by_number.mean() > 10
    np.testing.assert_allclose(by_number, by_word)


def test_few_and_many_samples_score_alike() -> None:
    rng = np.random.default_rng(1)
    references = [[rng.integers(0, 30, size=8).tolist() for _ in range(5)] for _ in range(100)]
    samples = [[*references[p][0][:6], p % 7] for p in range(100)]
    scorer = Cider(references)
    one_by_one = [scorer.scores([sample], [image])[0] for image, sample in enumerate(samples)]
    np.testing.assert_allclose(scorer.scores(samples), one_by_one)


def test_a_caption_like_all_its_references_is_worth_a_thousand() -> None:
    references = [[["a", name, "runs", "on", "sand"]] * 5 for name in ("dog", "cat", "girl")]
    assert cider(Corpus([group[0] for group in references], references)).tolist() == pytest.approx([1000] * 3)


def test_mistakes_are_named() -> None:
    with pytest.raises(SeetellError, match="image 1 has no reference captions"):
        Cider([[["a"]], []])
    with pytest.raises(ValueError, match="images that have references"):
        Cider([[["a"]]]).scores([["a"]], [1])
    with pytest.raises(TypeError, match="tokenised"):
        CiderStatistics.of([["a dog runs"]])
    with pytest.raises(ValueError, match="1 captions, but references for 2"):
        Corpus([["a"]], [[["a"]], [["b"]]])
    with pytest.raises(SeetellError, match="no captions"):
        Corpus([], [])
