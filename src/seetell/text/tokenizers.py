"""Tokenizers by name: `ptb` for what evaluation counts, `words` for text with punctuation, `pieces` of words."""

from collections.abc import Container
from typing import Protocol

from seetell.errors import SeetellError
from seetell.text.pieces import WordPieces
from seetell.text.ptb import ptb
from seetell.text.treebank import words

__all__ = ["PIECES", "TOKENIZERS", "TOKENIZER_NAMES", "Tokenizer", "by_name", "ptb", "words"]


class Tokenizer(Protocol):
    """Makes tokens of a text; no token is empty or holds white space."""

    def __call__(self, text: str, /) -> list[str]: ...


TOKENIZERS: dict[str, Tokenizer] = {"ptb": ptb, "words": words}
PIECES = "pieces"  # the one that needs to know its vocabulary
TOKENIZER_NAMES = (*TOKENIZERS, PIECES)


def by_name(name: str, vocabulary: Container[str] | None = None) -> Tokenizer:
    """The tokenizer that a recipe or bundle names; `pieces` are pieces of a vocabulary."""
    if name == PIECES and vocabulary is not None:
        return WordPieces(vocabulary)
    try:
        return TOKENIZERS[name]
    except KeyError:
        known = " or ".join(TOKENIZERS)
        problem = f"{name} are read by sentence encoders only" if name == PIECES else f"there is no tokenizer {name!r}"
        raise SeetellError(problem, remedy=f"Choose {known}.") from None
