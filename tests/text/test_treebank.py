"""`words` by examples that NLTK 3.10's word tokenizer gave, and where sentences end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seetell.text import words
from seetell.text.treebank import sentences

STEADY = settings(max_examples=100, deadline=None, derandomize=True)

EXAMPLES = {
    "A black dog is running after a white dog in the snow .": "a black dog is running after a white dog in the snow .",
    "The boy's dog isn't wet, is it?": "the boy 's dog is n't wet , is it ?",
    '"Stop" says the sign (in red).': "`` stop '' says the sign ( in red ) .",
    "They're on the dogs' bed; I'm not.": "they 're on the dogs ' bed ; i 'm not .",
    "A 5-year-old in a T-shirt -- wet -- jumps!": "a 5-year-old in a t-shirt -- wet -- jumps !",
    "It costs $3.88 (roughly 3,36 euros) at 10:30, 50% off": (
        "it costs $ 3.88 ( roughly 3,36 euros ) at 10:30 , 50 % off"
    ),
    "You cannot gonna gimme wanna": "you can not gon na gim me wan na",
    "Mr. Smith of the U.S. sat.": "mr. smith of the u.s. sat .",
    "rock 'n' roll 'quoted' words": "rock 'n ' roll ' quoted ' words",
    "AT&T at #5 @home *": "at & t at # 5 @ home *",
    "A sunny field.. and trees... and": "a sunny field .. and trees ... and",
    "she'd've wouldn't've": "she'd 've wouldn't 've",
    "a 'red' bus's door": "a ' red ' bus 's door",
    "“quoted” don’t": "“ quoted ” don ’ t",
    "Wait... what?!": "wait ... what ? !",
    # of sentences, as NLTK gives with its sentence tokenizer
    "two computers in an office space. one is a laptop": "two computers in an office space . one is a laptop",
    'He said "no." It\'s wet.': "he said `` no . '' it 's wet .",
    "": "",
}


@pytest.mark.parametrize(("text", "expected"), EXAMPLES.items())
def test_examples(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    "parts",
    [
        ["A dog runs.", "It is brown."],
        ["A dog runs. ", "it is brown"],
        ["Is it wet?", "Yes!", "It is."],
        ["Dr. Smith of St. Mary vs. the U.S. team, e.g. J. Doe, at 5 p.m. sharp"],
        ["Bus no. 5 stops"],
        ["It is from 1950.", "The car"],
        ["The 5. of May"],
        ['"Go."', "He went."],
    ],
)
def test_sentences(parts: list[str]) -> None:
    assert sentences(" ".join(parts)) == [part.strip() for part in parts]


@STEADY
@given(st.text())
def test_any_text_gives_lower_case_tokens_without_white_space(text: str) -> None:
    for token in words(text):
        assert token.split() == [token]
        assert token == token.lower()
        assert "\ufeff" not in token


@STEADY
@given(st.text(alphabet=st.sampled_from("ab'cdnt .,-\"5"), max_size=20))
def test_nothing_is_lost_but_white_space_and_the_kind_of_quotation_mark(text: str) -> None:
    def letters(some: str) -> str:
        return "".join(character for character in some if character.isalnum() or character in ".,-")

    assert letters("".join(words(text))) == letters(text.lower())
