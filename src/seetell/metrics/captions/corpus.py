"""Captions and their references as flat arrays, and n-grams counted in them: what BLEU, ROUGE-L and CIDEr share.

A caption is a sequence of tokens: words, or a vocabulary's numbers (anything hashable). Tokens become small
integers, captions one flat array, and an n-gram a 64-bit key mixed from its tokens. Counting is then sorting. (Two of
ten million different n-grams share a key with a probability below 1 in 100,000.)
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from seetell.errors import SeetellError

ORDERS = (1, 2, 3, 4)
Tokens = Sequence[Hashable]
Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Item = TypeVar("Item")


class TokenNumbers:
    """Assigns a number to every distinct token."""

    def __init__(self) -> None:
        self._numbers: defaultdict[Hashable, int] = defaultdict(lambda: len(self._numbers))

    def __call__(self, tokens: Iterable[Hashable], count: int) -> Integers:
        return np.fromiter(map(self._numbers.__getitem__, tokens), dtype=np.int64, count=count)


@dataclass(frozen=True, slots=True)
class Ngrams:
    """The distinct n-grams of every sentence: one row each, sorted by sentence, then by index.

    `index` points into `keys`, the sorted keys of all n-grams that occur.
    """

    keys: Keys
    sentence: Integers
    index: Integers
    count: Integers

    def rows_of(self, sentence: Integers, index: Integers) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Which of these (sentence, index) pairs occur, and their rows. An index of -1 never occurs."""
        here = self.sentence * len(self.keys) + self.index
        wanted = sentence * len(self.keys) + index
        row = np.searchsorted(here, wanted)
        found = (index >= 0) & (row < len(here))
        found[found] = here[row[found]] == wanted[found]
        return found, row[found]


def index_of(keys: Keys, among: Keys) -> Integers:
    """The index of each key among others, which are sorted; -1 for one that is not there."""
    if not len(among):
        return np.full(len(keys), -1)
    at = np.minimum(np.searchsorted(among, keys), len(among) - 1)
    return np.where(among[at] == keys, at, -1)


class Sentences:
    """Many sentences in one flat array."""

    def __init__(self, sentences: Sequence[Tokens], numbers: TokenNumbers) -> None:
        self.lengths: Integers = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
        self.tokens = numbers(chain.from_iterable(sentences), int(self.lengths.sum()))
        self.starts: Integers = np.concatenate([[0], np.cumsum(self.lengths)])
        self._ngrams: dict[int, Ngrams] = {}

    def __len__(self) -> int:
        return len(self.lengths)

    def ngrams(self, order: int) -> Ngrams:
        """How often every n-gram of `order` tokens occurs in every sentence; counted once."""
        if order not in self._ngrams:
            self._ngrams[order] = self._count(order)
        return self._ngrams[order]

    def _count(self, order: int) -> Ngrams:
        sentence = np.repeat(np.arange(len(self)), self.lengths)
        number = max(0, len(self.tokens) - order + 1)
        inside = sentence[:number] == sentence[len(self.tokens) - number :]
        keys = _mixed([self.tokens[shift : shift + number][inside] for shift in range(order)])
        known, index = np.unique(keys, return_inverse=True)
        # An index is small enough to be packed with the sentence into one integer, a key is not.
        packed, count = np.unique(sentence[:number][inside] * len(known) + index, return_counts=True)
        owner, index = np.divmod(packed, max(1, len(known)))
        return Ngrams(known, owner, index, count.astype(np.int64))


def _mixed(parts: list[Integers]) -> Keys:
    """One key from the tokens at each position of an n-gram (the finaliser of splitmix64 after every token)."""
    key = np.zeros(len(parts[0]), dtype=np.uint64)
    for part in parts:
        key = key * np.uint64(0x9E3779B97F4A7C15) + part.astype(np.uint64) + np.uint64(1)
        key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        key ^= key >> np.uint64(31)
    return key


class Corpus:
    """One candidate caption per image, and one or more references.

    Args:
        candidates: a tokenised caption for each image.
        references: the tokenised references of each image, in the same order.
    """

    def __init__(self, candidates: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> None:
        check_references(references)
        if len(candidates) != len(references):
            raise ValueError(f"{len(candidates)} captions, but references for {len(references)} images")
        if not candidates:
            raise SeetellError("there are no captions to score")
        self.numbers = TokenNumbers()
        self.candidates = Sentences(candidates, self.numbers)
        self.references = Sentences(concatenate(references), self.numbers)
        self.owner = owners(references)

    def __len__(self) -> int:
        return len(self.candidates)


def concatenate(groups: Sequence[Sequence[Item]]) -> list[Item]:
    """The members of all groups in one list."""
    return list(chain.from_iterable(groups))


def owners(groups: Sequence[Sequence[Tokens]]) -> Integers:
    """The group that each member belongs to."""
    return np.repeat(np.arange(len(groups)), [len(group) for group in groups])


def check_references(references: Sequence[Sequence[Tokens]]) -> None:
    for index, group in enumerate(references):
        if not len(group):
            raise SeetellError(f"image {index} has no reference captions", remedy="Leave it out of the evaluation")
        if isinstance(group, str) or isinstance(group[0], str):
            raise TypeError("references are lists of tokenised captions, one list per image, not strings")
