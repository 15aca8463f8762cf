"""Tokenizers by name: `ptb` (metrics), `words` (with punctuation), `pieces` (WordPiece)."""

from collections.abc import Container
from typing import Protocol

from seetell.errors import SeetellError, did_you_mean
from seetell.text.ptb import ptb
from seetell.text.treebank import words
from seetell.text.wordpiece import WordPieces

__all__ = ["PIECES", "TOKENIZERS", "TOKENIZER_NAMES", "Tokenizer", "by_name", "ptb", "words"]


class Tokenizer(Protocol):
    """Splits a text into tokens, none of them empty or with white space."""

    def __call__(self, text: str, /) -> list[str]: ...


TOKENIZERS: dict[str, Tokenizer] = {"ptb": ptb, "words": words}
PIECES = "pieces"  # needs a vocabulary
TOKENIZER_NAMES = (*TOKENIZERS, PIECES)


def by_name(name: str, vocabulary: Container[str] | None = None) -> Tokenizer:
    """The tokenizer with a name.

    Args:
        name: `ptb`, `words` or `pieces`.
        vocabulary: of the pieces; required for `pieces`.

    Example:
        >>> by_name("words")("A dog runs.")
        ['a', 'dog', 'runs', '.']
    """
    if name == PIECES and vocabulary is not None:
        return WordPieces(vocabulary)
    try:
        return TOKENIZERS[name]
    except KeyError:
        if name == PIECES:
            problem = "the tokenizer 'pieces' works with sentence encoders only"
            raise SeetellError(problem, remedy=f"Choose {' or '.join(TOKENIZERS)}") from None
        raise SeetellError(f"there is no tokenizer {name!r}", remedy=did_you_mean(name, TOKENIZER_NAMES)) from None
