"""WordPiece: words that are not in a vocabulary are split into pieces that are.

Pretrained sentence encoders read word pieces ("unicycle" → "uni", "##cy", "##cle"), and so have no unknown words. The
rules are those of BERT's uncased models (Devlin et al., 2019): lower case without accents, punctuation as separate
words, then the longest matching piece, from left to right.
"""

import unicodedata
from collections.abc import Container

CONTINUATION = "##"  # the prefix of a piece that does not start a word
LONGEST_WORD = 100  # characters; longer words are unknown


class WordPieces:
    """A WordPiece tokenizer.

    Args:
        vocabulary: the pieces.

    Example:
        >>> WordPieces({"a", "uni", "##cycle"})("A unicycle!")
        ['a', 'uni', '##cycle', '!']
    """

    def __init__(self, vocabulary: Container[str]) -> None:
        self.vocabulary = vocabulary

    def __call__(self, text: str, /) -> list[str]:
        """The pieces of a text; a word that cannot be split stays whole, as an unknown word."""
        return [piece for word in _words(text) for piece in self._split(word)]

    def _split(self, word: str) -> list[str]:
        if len(word) > LONGEST_WORD:
            return [word]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = (CONTINUATION if start else "") + word[start:end]
                if piece in self.vocabulary:
                    pieces.append(piece)
                    start = end
                    break
            else:
                return [word]
        return pieces


def _words(text: str) -> list[str]:
    """Words and punctuation marks, in lower case without accents."""
    plain = "".join(_spaced(letter) for letter in text if not _dropped(letter))
    words = []
    for word in plain.split():
        letters = unicodedata.normalize("NFD", word.lower())
        kept = "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")
        words += "".join(f" {letter} " if _is_punctuation(letter) else letter for letter in kept).split()
    return words


def _spaced(letter: str) -> str:
    return f" {letter} " if _is_ideograph(ord(letter)) else letter


def _dropped(letter: str) -> bool:
    """Whether a character is dropped: control characters other than white space, and the replacement character."""
    if letter in "\t\n\r":
        return False
    return letter in "\0\ufffd" or unicodedata.category(letter).startswith("C")


def _is_punctuation(letter: str) -> bool:
    """Whether a character is punctuation; ASCII symbols such as $ and ^ count, unlike in Unicode."""
    number = ord(letter)
    if 33 <= number <= 47 or 58 <= number <= 64 or 91 <= number <= 96 or 123 <= number <= 126:
        return True
    return unicodedata.category(letter).startswith("P")


def _is_ideograph(number: int) -> bool:
    """Whether a character is a Chinese one: BERT treats each as a word."""
    return (
        0x4E00 <= number <= 0x9FFF
        or 0x3400 <= number <= 0x4DBF
        or 0x20000 <= number <= 0x2CEAF
        or 0xF900 <= number <= 0xFAFF
        or 0x2F800 <= number <= 0x2FA1F
    )
