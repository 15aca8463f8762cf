import pytest

from seetell.text import detokenise, ptb, words

SENTENCES = [
    "a man's dog doesn't run",
    "they can't and won't, i'm told.",
    'a sign says "stop", doesn\'t it?',
    "the 'red' bus; the blue one: wow!",
    "the dogs' toys cost $5 (or 50% less)",
    "you cannot, gonna, wanna, gimme",
    "a 5-year-old in a t-shirt at 10:30",
    "wait... what?",
    "mr. smith of the u.s. team",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_words_come_back_as_they_were(sentence: str) -> None:
    assert detokenise(words(sentence)) == sentence


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ("a man 's dog", "a man's dog"),
        ("do n't", "don't"),
        ("-lrb- wet -rrb- dogs", "(wet) dogs"),
        ("# 1 and $ 5", "#1 and $5"),
        ("get 'em", "get 'em"),
        ("", ""),
        ("'s", "'s"),
        ("a <unk> dog", "a <unk> dog"),
    ],
)
def test_examples(tokens: str, sentence: str) -> None:
    assert detokenise(tokens.split()) == sentence


def test_captions_without_punctuation_come_back_from_ptb() -> None:
    for caption in ["a boy's kite doesn't fly", "they're in the u.s. at 5 p.m.", "you cannot swim"]:
        assert detokenise(ptb(caption)) == caption
