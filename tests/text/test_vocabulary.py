import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seetell.errors import SeetellError
from seetell.text import LABEL_SPECIALS, SPECIALS, Vocabulary

STEADY = settings(max_examples=40, deadline=None, derandomize=True)

CAPTIONS = [["a", "dog", "runs"], ["a", "cat", "runs"], ["a", "b", "dog"]]

# any token that a tokenizer may give
tokens = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), min_size=1).filter(
    lambda word: word.split() == [word] and word not in SPECIALS
)


def test_numbers_are_by_count_then_alphabet() -> None:
    vocabulary = Vocabulary.build(CAPTIONS)
    assert [vocabulary.word(number) for number in range(len(vocabulary))] == [
        *("<pad>", "<start>", "<end>", "<unk>"),
        *("a", "dog", "runs", "b", "cat"),
    ]
    assert (vocabulary.pad, vocabulary.start, vocabulary.end, vocabulary.unknown) == (0, 1, 2, 3)


def test_the_order_does_not_depend_on_that_of_the_text_or_on_hashing() -> None:
    assert Vocabulary.build(CAPTIONS) == Vocabulary.build([list(reversed(tokens)) for tokens in reversed(CAPTIONS)])
    code = "from seetell.text import Vocabulary; print(Vocabulary.build([['z', 'ä', 'b', 'B'], ['b', 'z']]).words)"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        assert run.stdout.decode("utf-8").strip() == "('b', 'z', 'B', 'ä')"


def test_rare_words_and_words_too_many_are_left_out() -> None:
    assert Vocabulary.build(CAPTIONS, minimum_count=2).words == ("a", "dog", "runs")
    assert Vocabulary.build(CAPTIONS, maximum_size=2).words == ("a", "dog")
    assert Vocabulary.build(CAPTIONS, minimum_count=3, maximum_size=2).words == ("a",)
    assert len(Vocabulary.build([])) == 4


def test_encode_and_decode() -> None:
    vocabulary = Vocabulary.build(CAPTIONS)
    assert vocabulary.encode(["a", "zebra", "runs"]) == [4, 3, 6]
    assert vocabulary.encode(["a"], start=True, end=True) == [1, 4, 2]
    assert vocabulary.encode([], start=True) == [1]
    assert vocabulary.decode([1, 4, 3, 6, 2, 0, 0]) == ["a", "<unk>", "runs"]
    assert vocabulary.decode([4, 2, 5]) == ["a"]
    assert vocabulary.index("dog") == 5
    assert vocabulary.index("zebra") == 3
    assert "dog" in vocabulary
    assert "zebra" not in vocabulary
    for number in (-1, len(vocabulary)):
        with pytest.raises(SeetellError, match="index"):
            vocabulary.word(number)


def test_text_that_looks_like_a_special_symbol_is_an_unknown_word() -> None:
    vocabulary = Vocabulary.build([["<end>", "<pad>", "<end>", "a", "<unk>", "<start>"]])
    assert vocabulary.words == ("a",)
    assert vocabulary.encode(["<end>", "a", "<pad>"], end=True) == [3, 4, 3, 2]
    assert "<end>" not in vocabulary
    with pytest.raises(SeetellError, match="special symbol"):
        Vocabulary(["<end>"])


def test_labels_have_no_unknown() -> None:
    labels = Vocabulary(["person", "sports ball"], LABEL_SPECIALS)
    assert labels.encode(["sports ball", "person"], start=True, end=True) == [1, 4, 3, 2]
    assert len(labels) == 5
    with pytest.raises(SeetellError, match="'zebra' is not in the vocabulary"):
        labels.encode(["zebra"])
    with pytest.raises(SeetellError, match="no <unk>"):
        _ = labels.unknown
    with pytest.raises(ValueError, match="in that order"):
        Vocabulary([], ("<start>", "<pad>"))


@pytest.mark.parametrize("word", ["", " ", "a\n", "a b\tc", " a", "a\u2028b", "a\x85", "a  b", "\ud800", "\ufeffa"])
def test_what_no_line_can_hold_is_no_word(word: str) -> None:
    with pytest.raises(SeetellError, match="cannot be a word"):
        Vocabulary([word])


def test_a_word_twice_is_refused() -> None:
    with pytest.raises(SeetellError, match="repeated"):
        Vocabulary(["a", "b", "a"])


@STEADY
@given(words=st.lists(tokens, unique=True), specials=st.sampled_from([SPECIALS, LABEL_SPECIALS, ()]))
def test_any_tokens_come_back_from_a_file(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], specials: tuple[str, ...]
) -> None:
    vocabulary = Vocabulary(words, specials)
    path = tmp_path_factory.getbasetemp() / "vocabulary.txt"
    vocabulary.save(path)
    if len(vocabulary):
        loaded = Vocabulary.load(path)
        assert (loaded.words, loaded.specials) == (tuple(words), specials)
        assert loaded == vocabulary
    if specials == SPECIALS:
        assert vocabulary.decode(vocabulary.encode(words, start=True, end=True)) == words


def test_the_file_is_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    Vocabulary(["café", "sports ball"], LABEL_SPECIALS).save(path)
    assert path.read_bytes() == "<pad>\n<start>\n<end>\ncafé\nsports ball\n".encode()
    assert [file.name for file in tmp_path.iterdir()] == ["v.txt"]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # as an editor on Windows leaves it
    assert Vocabulary.load(path) == Vocabulary(["café", "sports ball"], LABEL_SPECIALS)


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v.txt"
    Vocabulary(["old"]).save(path)

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SeetellError, match="No space"):
        Vocabulary(["new"]).save(path)
    assert Vocabulary.load(path).words == ("old",)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"<pad>\na\n\nb\n", 3, "empty"),
        (b"<pad>\na\nb\na\n", 4, "repeated"),
        (b"a\n<pad>\n", 2, "special symbol"),
        (b"<start>\n<pad>\na\n", 1, "special symbol"),
        (b"<pad>\na\n\xff\xfe\n", 3, "not UTF-8"),
        (b"<pad>\na\nb", 3, "cut off"),
        (b"<pad>\na \n", 2, "white space"),
        (b"\xef\xbb\xbf<pad>\na\n", 1, "cannot be written"),
        (b"", 1, "empty"),
    ],
)
def test_a_damaged_file_is_refused_at_its_line(tmp_path: Path, content: bytes, line: int, problem: str) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(SeetellError, match=problem) as caught:
        Vocabulary.load(path)
    assert caught.value.where == f"{path}:{line}"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SeetellError, match=r"nothing\.txt"):
        Vocabulary.load(tmp_path / "nothing.txt")


def test_coverage() -> None:
    coverage = Vocabulary.build(CAPTIONS).coverage([["a", "zebra", "runs"], ["zebra"]])
    assert coverage.share == 0.5
    assert coverage.tokens == 4
    assert coverage.unknown == {"zebra": 2}
    assert str(coverage) == "50.00% of 4 tokens known, 1 words unknown"
    assert Vocabulary([]).coverage([]).share == 1
