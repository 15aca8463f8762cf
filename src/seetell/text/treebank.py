"""Words and punctuation as in NLTK's `word_tokenize`, the tokenizer of Vilalta's experiments.

The rules are those of the Penn Treebank. Punctuation is kept, double quotation marks become `` and '', contractions
are split (do n't, man 's, can not), and a full stop is a token only at the end of a sentence: "Mr." and "3.5" stay
whole.

NLTK finds the ends of sentences with a trained model (Punkt), which is a separate download. Here, a full stop before
white space ends a sentence unless the word is an abbreviation, contains a full stop, is a single letter, or is a number
before a lower-case letter.
"""

import re
from collections.abc import Iterator

from seetell.text.ptb import ABBREVIATIONS, ABBREVIATIONS_OF_NUMBERS

_MARKS = re.compile(r"""(\.{2,}|--|`+|''|["«»“”‘’„;@#$%&?!*()\[\]{}<>\u2012-\u2015]|[:,](?!\d))""")
_CLOSING = "]})>\"'»”’ "
_OPENS_AFTER = frozenset(" \t\n([{<«“‘„`")
_OPENING_APOSTROPHE = re.compile(r"(?i)(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)")
_SHORT_CLITIC = re.compile(r"(.*[^'])('[sSmMdD]?)")
_LONG_CLITIC = re.compile(r"(.*[^'])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T)")
# Two words in one, and the index of the second
_PAIRS = {"cannot": 3, "d'ye": 1, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3, "more'n": 4, "wanna": 3}
_STOP = re.compile(r"""(?<!\S)(\S*?)[.!?]["')\]}»”’]*\s+""")
_PLAIN = re.compile(r"([\w\s]*)(\.?)\s*")
_KEEP_STOP = frozenset(ABBREVIATIONS)
_KEEP_STOP_BEFORE_NUMBER = frozenset(ABBREVIATIONS_OF_NUMBERS)


def sentences(text: str) -> list[str]:
    """Split a text into sentences.

    Example:
        >>> sentences("Mr. Smith sits. He waits!")
        ['Mr. Smith sits.', 'He waits!']
    """
    found, start = [], 0
    for stop in _STOP.finditer(text):
        word, mark = stop[1], text[stop.end(1)]
        if mark == "." and not _ends(word, text[stop.end() : stop.end() + 1]):
            continue
        found.append(text[start : stop.end()].strip())
        start = stop.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def _ends(word: str, following: str) -> bool:
    """Whether the full stop after `word` ends a sentence, given the character that follows."""
    bare = word.lstrip("\"'([{«“‘")
    if bare.isdecimal():
        return not following.islower()
    if bare.lower() in _KEEP_STOP_BEFORE_NUMBER:
        return not following.isdecimal()
    return len(bare) > 1 and "." not in bare and bare.lower() not in _KEEP_STOP


def words(text: str) -> list[str]:
    """Tokenize a caption into words and punctuation, in lower case.

    Args:
        text: a caption.

    Example:
        >>> words('The boy\\'s dog isn\\'t "wet". It cannot swim!')
        ['the', 'boy', "'s", 'dog', 'is', "n't", '``', 'wet', "''", '.', 'it', 'can', 'not', 'swim', '!']
    """
    if plain := _PLAIN.fullmatch(text):  # most captions; the same result, faster
        tokens = plain[1].lower().split()
        if _PAIRS.keys().isdisjoint(tokens):
            return [*tokens, "."] if plain[2] else tokens
    text = text.replace("\ufeff", "")  # a byte order mark is no part of any word
    return [token.lower() for sentence in sentences(text) for token in _sentence(sentence)]


def _sentence(text: str) -> Iterator[str]:
    body = text.rstrip(_CLOSING)
    if body.endswith(".") and not body.endswith(".."):
        yield from _parts(body[:-1], "")
        yield "."
        yield from _parts(text[len(body) :], body)
    else:
        yield from _parts(text, "")


def _parts(text: str, before: str) -> Iterator[str]:
    """The tokens of `text`, which follows `before` in its sentence."""
    position = len(before)
    whole = before + text
    for number, part in enumerate(_MARKS.split(text)):
        if number % 2 == 0:
            for chunk in part.split():
                yield from _chunk(chunk)
        elif part in ('"', "''"):
            opens = whole[position - 1] in _OPENS_AFTER if position else part == '"'
            yield "``" if opens else "''"
        else:
            yield part
        position += len(part)


def _chunk(chunk: str) -> Iterator[str]:
    if "'" in chunk:
        for word in _OPENING_APOSTROPHE.sub("' ", chunk).split():
            ending: list[str] = []
            for clitic in (_SHORT_CLITIC, _LONG_CLITIC):
                if match := clitic.fullmatch(word):
                    word, ending = match[1], [match[2], *ending]
            yield from _pair(word)
            yield from ending
    else:
        yield from _pair(chunk)


def _pair(word: str) -> Iterator[str]:
    if cut := _PAIRS.get(word.lower()):
        yield word[:cut]
        yield word[cut:]
    else:
        yield word
