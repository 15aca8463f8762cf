"""Which words of two texts mean alike, by their vectors: orange ⇔ orange, arm ⇔ hand (Kolluru, section 4.5)."""

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
class Alike:
    """A word of the ground truth, a word that was found, and the cosine of their vectors."""

    own: str
    found: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of a text, and the number of what it means."""

    start: int
    end: int
    meaning: int


@dataclass(frozen=True, slots=True)
class Marked:
    """A text, and its words that mean the same as others'; marks are in order and do not overlap."""

    text: str
    marks: tuple[Mark, ...] = ()


def content_words(texts: Iterable[str]) -> list[str]:
    """The words of some texts in lower case, each once, in order; without stop words and single letters."""
    found = (match[0].lower() for text in texts for match in _WORD.finditer(text))
    return [word for word in dict.fromkeys(found) if _has_content(word)]


def alike(own: Sequence[str], found: Sequence[str], vectors: WordVectors, threshold: float = THRESHOLD) -> list[Alike]:
    """Pairs of words that mean alike, each word in one pair at most: the most alike first, then the most alike of the
    rest, down to a cosine of `threshold`. A word is like itself, vector or not."""
    cosines = _unit(own, vectors) @ _unit(found, vectors).T
    candidates = [
        (-1.0 if first == second else -min(float(cosines[i, j]), 1.0), first != second, i, j)
        for i, first in enumerate(own)
        for j, second in enumerate(found)
        if first == second or cosines[i, j] >= threshold
    ]
    pairs: list[Alike] = []
    taken_own: set[int] = set()
    taken_found: set[int] = set()
    for negative, _, i, j in sorted(candidates):
        if i not in taken_own and j not in taken_found:
            taken_own.add(i)
            taken_found.add(j)
            pairs.append(Alike(own[i], found[j], -negative))
    return pairs


def meanings(pairs: Iterable[Alike]) -> dict[str, int]:
    """A number for each word of the ground truth that something was found for, from 0 in the order of the pairs.

    Not one for all words that pairs join: through a third word flying and river would come to mean alike.
    """
    return {word: number for number, word in enumerate(dict.fromkeys(pair.own for pair in pairs))}


def marked(text: str, meaning: Mapping[str, int]) -> Marked:
    """A text with every word marked that has a number."""
    places = ((match.start(), match.end(), meaning.get(match[0].lower())) for match in _WORD.finditer(text))
    return Marked(text, tuple(Mark(start, end, number) for start, end, number in places if number is not None))


def _has_content(word: str) -> bool:
    return word not in STOP_WORDS and (len(word) > 1 or word.isdigit())


def _unit(words: Sequence[str], vectors: WordVectors) -> np.ndarray:
    """Vectors of unit length, (words, dimension); zeros for a word that has none."""
    table = np.zeros((len(words), vectors.dimension), dtype=np.float32)
    for row, word in enumerate(words):
        vector = vectors.find(word)
        length = 0.0 if vector is None else float(np.linalg.norm(vector))
        if vector is not None and length > 0:
            table[row] = vector / length
    return table
