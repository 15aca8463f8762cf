import pytest

from seetell.errors import SeetellError
from seetell.text import TOKENIZER_NAMES, TOKENIZERS, Vocabulary, by_name, ptb, words


def test_tokenizers_have_names() -> None:
    assert by_name("ptb") is ptb
    assert by_name("words") is words
    assert set(TOKENIZERS) == {"ptb", "words"}
    assert set(TOKENIZER_NAMES) == {"ptb", "words", "pieces"}


def test_pieces_are_pieces_of_a_vocabulary() -> None:
    assert by_name("pieces", Vocabulary(["dog", "##s"]))("Dogs") == ["dog", "##s"]
    with pytest.raises(SeetellError, match="works with sentence encoders only"):
        by_name("pieces")


def test_they_differ_in_punctuation() -> None:
    assert by_name("ptb")("A dog, wet.") == ["a", "dog", "wet"]
    assert by_name("words")("A dog, wet.") == ["a", "dog", ",", "wet", "."]


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(SeetellError, match=r"no tokenizer .nltk.*ptb, words"):
        by_name("nltk")
