"""Word pieces: words that a vocabulary does not hold are cut into parts that it does hold.

A sentence encoder that was trained on much text reads pieces ("unicycle" → "uni", "##cy", "##cle"), and so has no
unknown words. The rules are those of BERT's uncased models (Devlin et al., 2019): small letters without accents, every
punctuation mark a word of its own, then the longest piece that fits, from the left.
"""

import unicodedata
from collections.abc import Container

INSIDE = "##"  # stands before a piece that goes on a word
LONGEST_WORD = 100  # letters; a longer one is unknown


class WordPieces:
    """A tokenizer.

    Args:
        vocabulary: the pieces that there are.

    Example:
        >>> WordPieces({"a", "uni", "##cycle"})("A unicycle!")
        ['a', 'uni', '##cycle', '!']
    """

    def __init__(self, vocabulary: Container[str]) -> None:
        self.vocabulary = vocabulary

    def __call__(self, text: str, /) -> list[str]:
        """Pieces; a word that has none stays whole, as the unknown word that it is."""
        return [piece for word in _words(text) for piece in self._cut(word)]

    def _cut(self, word: str) -> list[str]:
        if len(word) > LONGEST_WORD:
            return [word]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = (INSIDE if start else "") + word[start:end]
                if piece in self.vocabulary:
                    pieces.append(piece)
                    start = end
                    break
            else:
                return [word]
        return pieces


def _words(text: str) -> list[str]:
    """Words and punctuation marks, in small letters without accents."""
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
    """Control characters other than white space, and the mark of what could not be decoded."""
    if letter in "\t\n\r":
        return False
    return letter in "\0\ufffd" or unicodedata.category(letter).startswith("C")


def _is_punctuation(letter: str) -> bool:
    """Also ASCII's symbols, such as $ and ^, which Unicode does not count as punctuation."""
    number = ord(letter)
    if 33 <= number <= 47 or 58 <= number <= 64 or 91 <= number <= 96 or 123 <= number <= 126:
        return True
    return unicodedata.category(letter).startswith("P")


def _is_ideograph(number: int) -> bool:
    """Of Chinese characters, each is a word; so the model was trained."""
    return (
        0x4E00 <= number <= 0x9FFF
        or 0x3400 <= number <= 0x4DBF
        or 0x20000 <= number <= 0x2CEAF
        or 0xF900 <= number <= 0xFAFF
        or 0x2F800 <= number <= 0x2FA1F
    )
