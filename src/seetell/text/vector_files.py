"""Files of word vectors in the text format of GloVe and word2vec: a word and its numbers per line."""

import gzip
import os
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, compress, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from seetell.errors import SeetellError

Vectors = npt.NDArray[np.float32]
_BLOCK = 4096  # lines whose numbers are read at once
_SHOWN_PROBLEMS = 100


def read_vectors(
    path: str | os.PathLike[str], wanted: set[str] | None, member: str | None
) -> tuple[list[str], Vectors, list[str]]:
    """The words, vectors and problems of a file; see `WordVectors.read`.

    Args:
        path: of the file.
        wanted: keep only these words.
        member: which file of an archive.
    """
    try:
        with _opened(Path(path), member) as (file, name):
            return _Reader(name, wanted).read(file)
    except FileNotFoundError:
        raise SeetellError("there is no such file of word vectors", where=str(path)) from None
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise SeetellError(f"the word vectors cannot be read: {error}", where=str(path)) from None


@contextmanager
def _opened(path: Path, member: str | None) -> Iterator[tuple[IO[bytes], str]]:
    """The file as bytes, and its name for messages."""
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            name = _member(archive, path, member)
            with archive.open(name) as file:
                yield file, f"{path}/{name}"
    elif path.suffix.lower() == ".gz":
        with gzip.open(path, "rb") as unpacked:
            yield unpacked, str(path)  # type: ignore[misc]  # GzipFile is not declared as an IO[bytes]
    else:
        with open(path, "rb") as plain:
            yield plain, str(path)


def _member(archive: zipfile.ZipFile, path: Path, member: str | None) -> str:
    files = [file for file in archive.infolist() if not file.is_dir()]
    names = ", ".join(file.filename for file in files) or "nothing"
    if member is not None:
        if member not in archive.namelist():
            raise SeetellError(f"the archive has no {member}", where=str(path), remedy=f"It holds: {names}.")
        return member
    texts = [file for file in files if file.filename.endswith(".txt")]
    if not texts:
        raise SeetellError("the archive has no .txt", where=str(path), remedy=f"It holds: {names}; name one of these.")
    return max(texts, key=lambda file: file.file_size).filename


class _Reader:
    """Reads one file, parsing the numbers of a block of lines at once."""

    def __init__(self, name: str, wanted: set[str] | None) -> None:
        self.name = name
        self.wanted = wanted
        # Words may contain spaces, so the first field of a line is only a first test.
        self.first_fields = None if wanted is None else {word.split(" ")[0].encode() for word in wanted}
        self.dimension = 0
        self.words: dict[str, None] = {}
        self.blocks: list[Vectors] = []
        self.problems: list[str] = []
        self.more_problems = 0

    def read(self, file: Iterable[bytes]) -> tuple[list[str], Vectors, list[str]]:
        lines = enumerate(file, 1)
        head = [(number, line) for number, line in islice(lines, 100) if line.strip()]
        if not head:
            raise SeetellError("the file of word vectors is empty", where=self.name)
        if _is_header(head[0][1]):
            self.dimension = int(head.pop(0)[1].split()[1])
        else:
            widths = Counter(len(line.split()) - 1 for _, line in head)
            self.dimension = widths.most_common(1)[0][0]
        if self.dimension < 1:
            raise SeetellError(
                "this is not a file of word vectors",
                where=f"{self.name}:1",
                remedy="Each line must hold a word and its numbers, as in GloVe's text files.",
            )
        every = chain(head, lines)
        while block := list(islice(every, _BLOCK)):
            self._block(block)
        if self.more_problems:
            self.problems.append(f"{self.name}: {self.more_problems:,} more such lines")
        if not self.words and (self.wanted is None or self.problems):
            raise SeetellError(
                "no line holds a word vector",
                where=self.name,
                remedy=self.problems[0] if self.problems else "",
            )
        vectors = np.concatenate(self.blocks) if self.blocks else np.empty((0, self.dimension), np.float32)
        return list(self.words), vectors, self.problems

    def _block(self, lines: list[tuple[int, bytes]]) -> None:
        words: list[str] = []
        numbers: list[bytes] = []
        line_numbers: list[int] = []
        for number, line in lines:
            if self.first_fields is not None and line[: line.find(b" ")] not in self.first_fields:
                continue
            line = line.rstrip()
            if not line:
                continue
            if line.count(b" ") == self.dimension:
                head, _, tail = line.partition(b" ")
            else:  # a word with spaces, or a damaged line
                fields = line.rsplit(b" ", self.dimension)
                head, tail = fields[0], b" ".join(fields[1:])
                if len(fields) <= self.dimension:
                    self._problem(number, f"{len(fields) - 1} numbers instead of {self.dimension}")
                    continue
            try:
                word = head.strip().decode("utf-8")
            except UnicodeDecodeError:
                self._problem(number, "the word is not UTF-8")
                continue
            if not word:
                self._problem(number, "there is no word")
            elif self.wanted is None or word in self.wanted:
                words.append(word)
                numbers.append(tail)
                line_numbers.append(number)
        self._keep(words, numbers, line_numbers)

    def _keep(self, words: list[str], numbers: list[bytes], line_numbers: list[int]) -> None:
        if not words:
            return
        vectors = _parsed(numbers, self.dimension)
        if vectors is None:  # a line is damaged: halve the block until it is found
            if len(words) == 1:
                self._problem(
                    line_numbers[0], f"not all of these are numbers: {numbers[0][:40].decode(errors='replace')} …"
                )
                return
            half = len(words) // 2
            self._keep(words[:half], numbers[:half], line_numbers[:half])
            self._keep(words[half:], numbers[half:], line_numbers[half:])
            return
        finite = np.asarray(np.isfinite(vectors).all(axis=1))
        kept = []
        for row, (word, number) in enumerate(zip(words, line_numbers, strict=True)):
            if word in self.words:
                self._problem(number, f"the word {word!r} is repeated")
            elif not finite[row]:
                self._problem(number, "not all numbers are finite")
            else:
                self.words[word] = None
                kept.append(row)
        self.blocks.append(vectors if len(kept) == len(words) else vectors[kept])

    def _problem(self, number: int, reason: str) -> None:
        if len(self.problems) < _SHOWN_PROBLEMS:
            self.problems.append(f"{self.name}:{number}: {reason}")
        else:
            self.more_problems += 1


def _parsed(lines: list[bytes], dimension: int) -> Vectors | None:
    """The numbers of lines, (lines, dimension); None if some are not numbers."""
    plain = np.array([line.count(b".") == dimension and b"e" not in line for line in lines])
    vectors = np.empty((len(lines), dimension), dtype=np.float32)
    for these, parse in ((plain, _fractions), (~plain, _numbers)):
        if these.any():
            found = parse(b" ".join(compress(lines, these)))
            if found is None or found.size != these.sum() * dimension:
                return None
            vectors[these] = found.reshape(-1, dimension)
    return vectors


def _fractions(text: bytes) -> npt.NDArray[np.floating] | None:
    """Numbers with a decimal point and no exponent: integers divided by powers of ten, three times as fast."""
    characters = np.frombuffer(text + b" ", dtype=np.uint8)
    points, spaces = np.flatnonzero(characters == ord(".")), np.flatnonzero(characters == ord(" "))
    lengths = np.diff(spaces, prepend=-1)
    if (
        points.size != spaces.size
        or lengths.max() > 18
        or (spaces - points >= lengths).any()
        or (spaces < points).any()
    ):
        return _numbers(text)
    whole = _numbers(text.replace(b".", b""), np.int64)
    return None if whole is None or whole.size != spaces.size else whole / 10.0 ** (spaces - points - 1)


def _numbers(text: bytes, kind: type[np.generic] = np.float32) -> npt.NDArray[Any] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how older NumPy reports text that is not a number
        try:
            return np.fromstring(text, dtype=kind, sep=" ")
        except (ValueError, DeprecationWarning):
            return None


def _is_header(line: bytes) -> bool:
    """Whether this is the header of word2vec's format: the number of words, and of dimensions."""
    fields = line.split()
    return len(fields) == 2 and all(field.isdigit() for field in fields)
