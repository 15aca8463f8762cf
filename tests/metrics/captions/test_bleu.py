"""BLEU against a worked example and a plain count."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seetell.metrics.captions.bleu import bleu
from seetell.metrics.captions.corpus import Corpus

SENTENCE = st.lists(st.sampled_from("abcd"), max_size=7)
CORPUS = st.lists(st.tuples(SENTENCE, st.lists(SENTENCE, min_size=1, max_size=3)), min_size=1, max_size=4)


def words(caption: str) -> list[str]:
    return caption.split()


def grams(caption: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(caption[i : i + n]) for i in range(len(caption) - n + 1))


def slow_bleu(pairs: list[tuple[list[str], list[list[str]]]], n: int, *, penalty: bool) -> float:
    """BLEU-n by the book: pooled clipped counts, then the brevity penalty."""
    log = 0.0
    for k in range(1, n + 1):
        correct = possible = 0
        for candidate, references in pairs:
            most: Counter[tuple[str, ...]] = Counter()
            for reference in references:
                most |= grams(reference, k)
            correct += (grams(candidate, k) & most).total()
            possible += max(0, len(candidate) - k + 1)
        if not correct:
            return 0.0
        log += math.log(correct / possible) / n
    length = sum(len(candidate) for candidate, _ in pairs)
    closest = sum(min((abs(len(r) - len(c)), len(r)) for r in refs)[1] for c, refs in pairs)
    return 100 * math.exp(log + (min(0.0, 1 - closest / length) if penalty else 0.0))


@given(CORPUS)
def test_every_order_is_that_of_the_plain_count(pairs: list[tuple[list[str], list[list[str]]]]) -> None:
    found = bleu(Corpus([c for c, _ in pairs], [r for _, r in pairs]))
    for n in range(1, 5):
        for got, penalty in ((found.corpus[n - 1], True), (found.corpus_no_bp[n - 1], False)):
            expected = slow_bleu(pairs, n, penalty=penalty)
            # The constants keep what is nought from being quite nought: (10⁻¹⁵ / 10⁻⁹) ^ ¼ at most.
            assert got == pytest.approx(expected, abs=1e-4) if expected else got < 3.2
    for image, pair in enumerate(pairs):
        assert found.images[0, image] == pytest.approx(slow_bleu([pair], 1, penalty=True), abs=1e-4)
        assert found.images_no_bp[0, image] == pytest.approx(slow_bleu([pair], 1, penalty=False), abs=1e-4)


def test_a_worked_example() -> None:
    # Papineni et al.: seven times "the", of which the references allow two.
    candidate = words("the the the the the the the")
    references = [words("the cat is on the mat"), words("there is a cat on the mat")]
    found = bleu(Corpus([candidate], [references]))
    assert found.corpus[0] == pytest.approx(100 * 2 / 7)


def test_brevity() -> None:
    found = bleu(Corpus([words("a dog")], [[words("a dog runs"), words("a dog runs on the long beach")]]))
    assert found.corpus_no_bp[1] == pytest.approx(100)
    assert found.corpus[1] == pytest.approx(100 * math.exp(1 - 3 / 2))  # the closest reference has three words


def test_the_shorter_of_two_references_as_close() -> None:
    found = bleu(Corpus([words("a b c")], [[words("a b c d"), words("a b")]]))
    assert found.corpus[0] == pytest.approx(100)


def test_order_of_the_references_does_not_matter() -> None:
    references = [[words("a b"), words("a c d")], [words("b"), words("d d d")]]
    one = bleu(Corpus([words("a b d"), words("d d")], references))
    other = bleu(Corpus([words("a b d"), words("d d")], [group[::-1] for group in references]))
    assert one.corpus.tolist() == other.corpus.tolist()
