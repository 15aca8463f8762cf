"""Words of two texts with similar meanings, by their vectors: orange ⇔ orange, arm ⇔ hand (Kolluru, section 4.5)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seetell.text import WordVectors
from seetell.text.stop_words import STOP_WORDS

# In the vectors that come with the package arm and hand, which Kolluru pairs, have a cosine of 0.73; dog and man 0.71.
THRESHOLD = 0.72

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of the ground truth, a word that was found, and the cosine of their vectors."""

    own: str
    found: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of a text, and the number of its meaning."""

    start: int
    end: int
    meaning: int


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text with marks on words that match others; marks are in order and do not overlap."""

    text: str
    marks: tuple[Mark, ...] = ()


def content_words(texts: Iterable[str]) -> list[str]:
    """The distinct words of some texts in lower case, in order, without stop words and single letters.

    Example:
        >>> content_words(["A dog runs", "The dog is in water"])
        ['dog', 'runs', 'water']
    """
    found = (match[0].lower() for text in texts for match in _WORD.finditer(text))
    return [word for word in dict.fromkeys(found) if _has_content(word)]


def match_words(
    own: Sequence[str], found: Sequence[str], vectors: WordVectors, threshold: float = THRESHOLD
) -> list[WordMatch]:
    """Pair words with similar meanings, each word in at most one pair, the most similar pairs first.

    Args:
        own: words of the ground truth.
        found: words of what was retrieved.
        vectors: word vectors; a word matches itself even without one.
        threshold: the least cosine of a pair.
    """
    cosines = _unit(own, vectors) @ _unit(found, vectors).T
    candidates = [
        (-1.0 if first == second else -min(float(cosines[i, j]), 1.0), first != second, i, j)
        for i, first in enumerate(own)
        for j, second in enumerate(found)
        if first == second or cosines[i, j] >= threshold
    ]
    pairs: list[WordMatch] = []
    taken_own: set[int] = set()
    taken_found: set[int] = set()
    for negative, _, i, j in sorted(candidates):
        if i not in taken_own and j not in taken_found:
            taken_own.add(i)
            taken_found.add(j)
            pairs.append(WordMatch(own[i], found[j], -negative))
    return pairs


def meanings(pairs: Iterable[WordMatch]) -> dict[str, int]:
    """A number for each word of the ground truth that is in a pair, from 0 in the order of the pairs.

    Words that pairs connect do not share a number: through a third word, flying and river would get the same meaning.
    """
    return {word: number for number, word in enumerate(dict.fromkeys(pair.own for pair in pairs))}


def marked(text: str, meaning: Mapping[str, int]) -> MarkedText:
    """A text in which every word with a number is marked."""
    spans = ((match.start(), match.end(), meaning.get(match[0].lower())) for match in _WORD.finditer(text))
    return MarkedText(text, tuple(Mark(start, end, number) for start, end, number in spans if number is not None))


def _has_content(word: str) -> bool:
    return word not in STOP_WORDS and (len(word) > 1 or word.isdigit())


def _unit(words: Sequence[str], vectors: WordVectors) -> np.ndarray:
    """Unit vectors (words, dimension); zeros for words without a vector."""
    table = np.zeros((len(words), vectors.dimension), dtype=np.float32)
    for row, word in enumerate(words):
        vector = vectors.find(word)
        length = 0.0 if vector is None else float(np.linalg.norm(vector))
        if vector is not None and length > 0:
            table[row] = vector / length
    return table
