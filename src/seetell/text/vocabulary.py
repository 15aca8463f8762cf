"""The words a model knows, each with its number."""

import os
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seetell.errors import SeetellError

PAD, START, END, UNKNOWN = "<pad>", "<start>", "<end>", "<unk>"
SPECIALS = (PAD, START, END, UNKNOWN)
LABEL_SPECIALS = (PAD, START, END)  # a label is always known


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a text a vocabulary knows."""

    tokens: int
    unknown: Counter[str]  # the words it does not know, and how often each occurs

    @property
    def share(self) -> float:
        """The share of tokens that are known, between 0 and 1."""
        return 1 - self.unknown.total() / self.tokens if self.tokens else 1.0

    def __str__(self) -> str:
        return f"{100 * self.share:.2f} % of {self.tokens:,} tokens known, {len(self.unknown):,} words unknown"


class Vocabulary:
    """Words and special symbols with their numbers: `<pad>` 0, `<start>` 1, `<end>` 2, `<unk>` 3, then the words.

    A special symbol is a number, not a word: text that happens to read "<end>" is an unknown word like any other.

    Args:
        words: each once; no white space but for single spaces inside ("sports ball").
        specials: which of `SPECIALS` there are; those left out make room for the next.
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
        """The vocabulary of a text: the most frequent word first, equally frequent ones in alphabetical order.

        Args:
            token_lists: the training split's captions as tokens. No other split's: what is known there must not be.
            minimum_count: words that occur less often are left out.
            maximum_size: the most words, special symbols not counted.
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
        """The number of a special symbol."""
        try:
            return self.specials.index(symbol)
        except ValueError:
            raise SeetellError(f"this vocabulary has no {symbol}") from None

    def word(self, number: int) -> str:
        """The word, or the special symbol, with this number."""
        if not 0 <= number < len(self._symbols):
            raise SeetellError(f"no word has the number {number}: there are {len(self._symbols)}")
        return self._symbols[number]

    def index(self, word: str) -> int:
        """The number of a word; `<unk>`'s for one that is not known."""
        return self.encode([word])[0]

    def encode(self, tokens: Iterable[str], start: bool = False, end: bool = False) -> list[int]:
        """The numbers of `tokens`, after `<start>` and before `<end>` if asked."""
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
        """The words of a sequence that a model wrote: up to `<end>`, without `<start>` and `<pad>`."""
        words = []
        for number in numbers:
            word = self.word(number)
            if word == END:
                break
            if word not in (PAD, START):
                words.append(word)
        return words

    def coverage(self, token_lists: Iterable[Iterable[str]]) -> Coverage:
        """How much of another text this vocabulary knows."""
        counts = Counter(token for tokens in token_lists for token in tokens)
        unknown = Counter({word: count for word, count in counts.items() if word not in self})
        return Coverage(counts.total(), unknown)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a UTF-8 text file, the word with number i on line i + 1; in one step, so that no half of it is seen."""
        path = Path(path)
        temporary = path.with_name(path.name + ".part")
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(symbol + "\n" for symbol in self._symbols)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Read what `save` wrote."""
        try:
            lines = Path(path).read_bytes().split(b"\n")
        except OSError as error:
            raise SeetellError(f"the vocabulary cannot be read: {error.strerror}", where=str(path)) from None
        if lines.pop() != b"":
            raise _damaged(path, len(lines) + 1, "the last line does not end, so the file was cut off")
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
    """Why `word` cannot stand in a vocabulary beside `others`; nothing if it can."""
    if word in SPECIALS:
        return f"{word} is a special symbol, and cannot be a word"
    if word in others:
        return f"the word {word!r} is there twice"
    # Anything else would not come back from a file that holds a word a line.
    if not word or word != " ".join(word.split()) or "\ufeff" in word or not _encodable(word):
        return f"{word!r} cannot be a word: it is empty, or holds white space or characters that no file can"
    return ""


def _leading_specials(lines: list[bytes]) -> list[str]:
    first = [line.removesuffix(b"\r") for line in lines[: len(SPECIALS)]]
    present = [special for special in SPECIALS if special.encode() in first]
    return present if first[: len(present)] == [special.encode() for special in present] else []


def _damaged(path: str | os.PathLike[str], line: int, problem: str) -> SeetellError:
    return SeetellError(
        f"the vocabulary is damaged: {problem}",
        where=f"{os.fspath(path)}:{line}",
        remedy="Take the file from where it came once more: a model's words cannot be mended by hand.",
    )


def _encodable(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
