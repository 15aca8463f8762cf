"""Vocabularies: the words that a model knows, and their indices."""

import os
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seetell.errors import SeetellError
from seetell.files import write_file

PAD, START, END, UNKNOWN = "<pad>", "<start>", "<end>", "<unk>"
SPECIALS = (PAD, START, END, UNKNOWN)
LABEL_SPECIALS = (PAD, START, END)  # a label is always known


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a text is in a vocabulary."""

    tokens: int
    unknown: Counter[str]  # unknown words, and how often each occurs

    @property
    def share(self) -> float:
        """The share of known tokens, from 0 to 1."""
        return 1 - self.unknown.total() / self.tokens if self.tokens else 1.0

    def __str__(self) -> str:
        return f"{self.share:.2%} of {self.tokens:,} tokens known, {len(self.unknown):,} words unknown"


class Vocabulary:
    """Words and special symbols with their indices: `<pad>` 0, `<start>` 1, `<end>` 2, `<unk>` 3, then the words.

    A special symbol is an index, not a word: the text "<end>" is an unknown word like any other.

    Args:
        words: without repetitions, and without white space except single spaces ("sports ball").
        specials: which of `SPECIALS` it has, in their order.

    Example:
        >>> vocabulary = Vocabulary(["a", "dog"])
        >>> vocabulary.encode(["a", "cat"], start=True, end=True)
        [1, 4, 3, 2]
        >>> vocabulary.decode([1, 4, 5, 2])
        ['a', 'dog']
    """

    def __init__(self, words: Iterable[str], specials: Sequence[str] = SPECIALS) -> None:
        if list(specials) != [special for special in SPECIALS if special in specials]:
            raise ValueError(f"special symbols must be some of {SPECIALS}, in that order, not {tuple(specials)}")
        self.specials = tuple(specials)
        self.words = tuple(words)
        self._symbols = (*self.specials, *self.words)
        self._numbers: dict[str, int] = {}
        for number, word in enumerate(self.words, len(self.specials)):
            if problem := _problem(word, self._numbers):
                raise SeetellError(problem)
            self._numbers[word] = number

    @classmethod
    def build(
        cls,
        token_lists: Iterable[Iterable[str]],
        minimum_count: int = 1,
        maximum_size: int | None = None,
        specials: Sequence[str] = SPECIALS,
    ) -> "Vocabulary":
        """Build a vocabulary from a text: the most frequent words first, ties in alphabetical order.

        Args:
            token_lists: the tokenized captions of the training split, and of no other.
            minimum_count: words that occur less often are left out.
            maximum_size: the largest number of words, without special symbols.
            specials: see `Vocabulary`.
        """
        counts = Counter(token for tokens in token_lists for token in tokens)
        for special in SPECIALS:
            del counts[special]
        frequent = [word for word, count in counts.items() if count >= minimum_count]
        frequent.sort(key=lambda word: (-counts[word], word))
        return cls(frequent[:maximum_size], specials)

    def __len__(self) -> int:
        return len(self._symbols)

    def __contains__(self, word: object) -> bool:
        return word in self._numbers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._symbols == other._symbols

    def __hash__(self) -> int:
        return hash(self._symbols)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.words):,} words, {' '.join(self.specials) or 'no special symbols'})"

    @property
    def pad(self) -> int:
        return self.special(PAD)

    @property
    def start(self) -> int:
        return self.special(START)

    @property
    def end(self) -> int:
        return self.special(END)

    @property
    def unknown(self) -> int:
        return self.special(UNKNOWN)

    def special(self, symbol: str) -> int:
        """The index of a special symbol."""
        try:
            return self.specials.index(symbol)
        except ValueError:
            raise SeetellError(f"this vocabulary has no {symbol}") from None

    def word(self, number: int) -> str:
        """The word or special symbol with an index."""
        if not 0 <= number < len(self._symbols):
            raise SeetellError(f"no word has the index {number}: there are {len(self._symbols)}")
        return self._symbols[number]

    def index(self, word: str) -> int:
        """The index of a word; that of `<unk>` for an unknown one."""
        return self.encode([word])[0]

    def encode(self, tokens: Iterable[str], start: bool = False, end: bool = False) -> list[int]:
        """The indices of tokens.

        Args:
            tokens: words.
            start: prepend `<start>`.
            end: append `<end>`.
        """
        numbers = self._numbers
        if UNKNOWN in self.specials:
            unknown = self.unknown
            sequence = [numbers.get(token, unknown) for token in tokens]
        else:
            try:
                sequence = [numbers[token] for token in tokens]
            except KeyError as error:
                raise SeetellError(f"{error} is not in the vocabulary, which has no {UNKNOWN}") from None
        if start:
            sequence.insert(0, self.start)
        if end:
            sequence.append(self.end)
        return sequence

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The words of a sequence from a model: up to `<end>`, without `<start>` and `<pad>`."""
        words = []
        for number in numbers:
            word = self.word(number)
            if word == END:
                break
            if word not in (PAD, START):
                words.append(word)
        return words

    def coverage(self, token_lists: Iterable[Iterable[str]]) -> Coverage:
        """How much of another text is in this vocabulary."""
        counts = Counter(token for tokens in token_lists for token in tokens)
        unknown = Counter({word: count for word, count in counts.items() if word not in self})
        return Coverage(counts.total(), unknown)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a UTF-8 text file, atomically: the word with index i is on line i + 1."""
        write_file(path, "".join(f"{symbol}\n" for symbol in self._symbols), sync=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Read a file that `save` wrote."""
        try:
            lines = Path(path).read_bytes().split(b"\n")
        except OSError as error:
            raise SeetellError(f"the vocabulary cannot be read: {error.strerror}", where=str(path)) from None
        if lines.pop() != b"":
            raise _damaged(path, len(lines) + 1, "the last line does not end: the file was cut off")
        if not lines:
            raise _damaged(path, 1, "the file is empty")
        specials = _leading_specials(lines)
        words: dict[str, None] = {}
        for number, line in enumerate(lines[len(specials) :], len(specials) + 1):
            try:
                word = line.removesuffix(b"\r").decode("utf-8")
            except UnicodeDecodeError:
                raise _damaged(path, number, "this is not UTF-8") from None
            if problem := _problem(word, words):
                raise _damaged(path, number, problem)
            words[word] = None
        return cls(words, specials)


def _problem(word: str, others: Container[str]) -> str:
    """Why `word` cannot be in a vocabulary with `others`; "" if it can."""
    if word in SPECIALS:
        return f"{word} is a special symbol, not a word"
    if word in others:
        return f"the word {word!r} is repeated"
    # Anything else would not survive a file with a word per line.
    if not word or word != " ".join(word.split()) or "\ufeff" in word or not _encodable(word):
        return f"{word!r} cannot be a word: it is empty, or has white space or characters that cannot be written"
    return ""


def _leading_specials(lines: list[bytes]) -> list[str]:
    first = [line.removesuffix(b"\r") for line in lines[: len(SPECIALS)]]
    present = [special for special in SPECIALS if special.encode() in first]
    return present if first[: len(present)] == [special.encode() for special in present] else []


def _damaged(path: str | os.PathLike[str], line: int, problem: str) -> SeetellError:
    return SeetellError(
        f"the vocabulary is damaged: {problem}",
        where=f"{os.fspath(path)}:{line}",
        remedy="Copy the file from its source again",
    )


def _encodable(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
