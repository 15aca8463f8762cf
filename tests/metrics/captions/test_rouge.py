"""ROUGE-L against the textbook's table of longest common subsequences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seetell.metrics.captions.corpus import Corpus
from seetell.metrics.captions.rouge import rouge_l

SENTENCE = st.lists(st.sampled_from("abcde"), max_size=9)
LONG = st.lists(st.sampled_from("ab"), min_size=60, max_size=140)  # past the 64 bits of a machine word
CORPUS = st.lists(
    st.one_of(
        st.tuples(SENTENCE, st.lists(SENTENCE, min_size=1, max_size=3)),
        st.tuples(LONG, st.lists(LONG, min_size=1, max_size=1)),
    ),
    min_size=1,
    max_size=4,
)


def words(caption: str) -> list[str]:
    return caption.split()


def common(one: list[str], other: list[str]) -> int:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one, start=1):
        for j, b in enumerate(other, start=1):
            table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def slow_rouge_l(candidate: list[str], references: list[list[str]]) -> float:
    precision = max(common(candidate, reference) / max(1, len(candidate)) for reference in references)
    recall = max(common(candidate, reference) / max(1, len(reference)) for reference in references)
    return 100 * 2.44 * precision * recall / (recall + 1.44 * precision) if precision and recall else 0.0


@given(CORPUS)
def test_every_score_is_that_of_the_table(pairs: list[tuple[list[str], list[list[str]]]]) -> None:
    found = rouge_l(Corpus([c for c, _ in pairs], [r for _, r in pairs]))
    assert found.tolist() == pytest.approx([slow_rouge_l(*pair) for pair in pairs])


def test_a_worked_example() -> None:
    # Lin (2004): "police killed the gunman" has three of the words of "police kill the gunman" in order.
    found = rouge_l(Corpus([words("police kill the gunman")], [[words("police killed the gunman")]]))
    assert found[0] == pytest.approx(75)
