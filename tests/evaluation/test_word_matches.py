"""Words with similar meanings are paired one to one, the most similar first."""

import numpy as np
import pytest

from seetell.evaluation.word_matches import Mark, WordMatch, content_words, marked, match_words, meanings
from seetell.text import WordVectors


def at_angles(**degrees: float) -> WordVectors:
    """Word vectors in a plane, of differing lengths: the cosine of two is that of the angle between them."""
    turns = np.deg2rad(list(degrees.values()))
    lengths = np.arange(1, len(turns) + 1)[:, None]
    return WordVectors(list(degrees), (lengths * np.stack([np.cos(turns), np.sin(turns)], 1)).astype(np.float32))


def test_content_words_are_those_that_say_what_is_seen() -> None:
    sentence = "A band is playing in front of an audience and the singer is wearing an orange shirt"
    assert content_words([sentence, "The SINGER 's T-shirt, 2 men"]) == [
        *("band", "playing", "front", "audience", "singer", "wearing", "orange", "shirt"),
        *("t-shirt", "2", "men"),
    ]


def test_the_words_of_the_documents_figure() -> None:
    vectors = at_angles(orange=0, tattoos=80, arm=170, hand=130, pumpkins=20)  # arm–hand 0.77, orange–pumpkins 0.94
    pairs = match_words(["singer", "orange", "tattoos", "arm"], ["boy", "hand", "orange", "pumpkins"], vectors, 0.72)
    assert [(pair.own, pair.found) for pair in pairs] == [("orange", "orange"), ("arm", "hand")]
    assert [pair.cosine for pair in pairs] == pytest.approx([1, np.cos(np.deg2rad(40))])


def test_greedy_by_a_slow_loop() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        words = [f"w{number}" for number in range(14)]
        vectors = WordVectors(words[:13], random.normal(size=(13, 3)).astype(np.float32))  # the last has none
        own, found = ([str(word) for word in random.permutation(words)[:8]] for _ in range(2))
        assert [(pair.own, pair.found) for pair in match_words(own, found, vectors, 0.5)] == slowly(
            own, found, vectors, 0.5
        )


def slowly(own: list[str], found: list[str], vectors: WordVectors, threshold: float) -> list[tuple[str, str]]:
    def cosine(first: str, second: str) -> float:
        if first == second:
            return 2.0  # a word itself before all others
        if first not in vectors or second not in vectors:
            return -1.0
        a, b = vectors[first].astype(float), vectors[second].astype(float)
        return float(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))

    own, found, pairs = own.copy(), found.copy(), []
    while own and found:
        best = max(((cosine(a, b), a, b) for a in own for b in found), key=lambda each: each[0])
        if best[0] < threshold:
            break
        pairs.append(best[1:])
        own.remove(best[1])
        found.remove(best[2])
    same = [pair for pair in pairs if pair[0] == pair[1]]  # all as like as can be: in the order of the first text
    return [*((word, word) for word in dict.fromkeys(word for word, _ in same)), *pairs[len(same) :]]


def test_nothing_is_alike_where_there_are_no_words() -> None:
    assert match_words([], ["dog"], at_angles(dog=0)) == []
    assert match_words(["dog"], [], at_angles(dog=0)) == []


def test_meanings_are_those_of_the_ground_truth() -> None:
    pairs = [WordMatch("river", "boats", 0.8), WordMatch("flying", "boats", 0.75), WordMatch("river", "lake", 0.9)]
    assert meanings(pairs) == {"river": 0, "flying": 1}


def test_marks_are_where_the_words_are() -> None:
    text = "Dogs, dog-like dogs & a DOG."
    found = marked(text, {"dogs": 0, "dog": 4})
    assert [(text[mark.start : mark.end], mark.meaning) for mark in found.marks] == [
        ("Dogs", 0),
        ("dogs", 0),
        ("DOG", 4),
    ]
    assert found.marks[0] == Mark(0, 4, 0)
