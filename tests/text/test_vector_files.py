import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seetell.errors import SeetellError
from seetell.text import WordVectors

STEADY = settings(max_examples=40, deadline=None, derandomize=True)

GLOVE = "dog 0.1 -0.25 3.0\ncat 1e-05 2.5 -7\n. . 0.5 0.5 0.5\nnaïve -.5 5. +1.5\n日本 1 2 3\n"
EXPECTED = {
    "dog": [0.1, -0.25, 3],
    "cat": [1e-5, 2.5, -7],
    ". .": [0.5, 0.5, 0.5],  # a word with a space, as in glove.840B
    "naïve": [-0.5, 5, 1.5],
    "日本": [1, 2, 3],
}


def check(found: WordVectors) -> None:
    assert found.words == list(EXPECTED)
    np.testing.assert_array_equal(found.matrix, np.array(list(EXPECTED.values()), dtype=np.float32))
    assert found.matrix.dtype == np.float32
    assert found.problems == []


def test_plain(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE, encoding="utf-8", newline="\n")
    check(WordVectors.read(path))
    path.write_text(GLOVE.rstrip("\n"), encoding="utf-8", newline="\r\n")
    check(WordVectors.read(str(path)))


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt.gz"
    path.write_bytes(gzip.compress(GLOVE.encode()))
    check(WordVectors.read(path))


def test_zip_takes_the_largest_text_or_the_one_named(tmp_path: Path) -> None:
    path = tmp_path / "glove.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.md", "x" * 10_000)
        archive.writestr("small.txt", "dog 1 2\n")
        archive.writestr("large.txt", GLOVE)
    check(WordVectors.read(path))
    assert WordVectors.read(path, member="small.txt").dimension == 2
    with pytest.raises(SeetellError, match=r"no other\.txt.*readme\.md, small\.txt, large\.txt"):
        WordVectors.read(path, member="other.txt")


def test_a_zip_without_text(tmp_path: Path) -> None:
    path = tmp_path / "glove.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.md", "x")
    with pytest.raises(SeetellError, match=r"no \.txt.*readme\.md"):
        WordVectors.read(path)


def test_word2vec_has_a_header(tmp_path: Path) -> None:
    path = tmp_path / "word2vec.txt"
    lines = [line + " \n" for line in GLOVE.splitlines()]  # word2vec ends each line with a space
    path.write_text("5 3\n" + "".join(lines), encoding="utf-8")
    check(WordVectors.read(path))


def test_only_some_words(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE, encoding="utf-8")
    found = WordVectors.read(path, ["日本", "dog", "zebra", ". ."])
    assert found.words == ["dog", ". .", "日本"]
    np.testing.assert_array_equal(found["日本"], [1, 2, 3])
    nothing = WordVectors.read(path, ["zebra"])
    assert (len(nothing), nothing.dimension) == (0, 3)


def test_bad_lines_are_named_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(
        b"dog 1.0 2.0\n"
        b"few 1.0\n"
        b"word 1.0 x2.0\n"
        b"\xff\xfe 1.0 2.0\n"
        b"\n"
        b"dog 3.0 4.0\n"
        b"nan nan 1.0\n"
        b"inf 1.0 1e999\n"
        b"two 1.0.0 20\n"
        b"twice 1-2.0 .\n"
        b" 1.0 2.0\n"
        b"cat 5.0 6.0\n"
    )
    found = WordVectors.read(path)
    assert found.words == ["dog", "cat"]
    np.testing.assert_array_equal(found.matrix, [[1, 2], [5, 6]])
    named = {int(problem.removeprefix(f"{path}:").split(":")[0]): problem for problem in found.problems}
    assert set(named) == {2, 3, 4, 6, 7, 8, 9, 10, 11}
    assert "1 numbers instead of 2" in named[2]
    assert "x2.0" in named[3]
    assert "UTF-8" in named[4]
    assert "is repeated" in named[6]
    assert "finite" in named[7]


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("dog 1.0 2.0\ncat 1.0 2.0\n" * 2 + "a b c\n" * 5_000, encoding="utf-8")
    found = WordVectors.read(path)
    assert found.words == ["dog", "cat"]
    assert len(found.problems) == 101
    assert found.problems[-1] == f"{path}: 4,902 more such lines"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"word\nword\n", b"a b c\nd e f\n", bytes(range(256)) * 40])
def test_what_holds_no_vectors_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "glove.txt"
    path.write_bytes(content)
    with pytest.raises(SeetellError, match=r"glove\.txt"):
        WordVectors.read(path)


@pytest.mark.parametrize("name", ["missing.txt", "cut.gz", "not.gz", "not.zip"])
def test_files_that_cannot_be_opened_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(GLOVE.encode() * 1000)[:-20])
    (tmp_path / "not.gz").write_bytes(b"dog 1.0 2.0\n")
    (tmp_path / "not.zip").write_bytes(b"dog 1.0 2.0\n")
    with pytest.raises(SeetellError, match=name):
        WordVectors.read(tmp_path / name)


def test_blocks_join_in_order(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(10_000, 4)).astype(np.float32)
    path = tmp_path / "glove.txt"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"w{number} {' '.join(map(str, row.tolist()))}\n" for number, row in enumerate(values))
    found = WordVectors.read(path)
    assert found.words == [f"w{number}" for number in range(10_000)]
    np.testing.assert_array_equal(found.matrix, values)


numbers = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=5).map(str),
    st.integers(-1000, 1000).map(str),
)


@STEADY
@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=20))
def test_numbers_are_read_as_python_reads_them(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "numbers.txt"
    path.write_text("".join(f"w{place} {' '.join(row)}\n" for place, row in enumerate(rows)), encoding="utf-8")
    expected = np.array([[float(number) for number in row] for row in rows], dtype=np.float32)
    np.testing.assert_array_equal(WordVectors.read(path).matrix, expected)
