"""The tokenizers by name: `ptb` for what evaluation counts, `words` for text with its punctuation."""

from typing import Protocol

from seetell.errors import SeetellError
from seetell.text.ptb import ptb
from seetell.text.treebank import words

__all__ = ["TOKENIZERS", "Tokenizer", "by_name", "ptb", "words"]


class Tokenizer(Protocol):
    """Makes tokens of a text; no token is empty or holds white space."""

    def __call__(self, text: str, /) -> list[str]: ...


TOKENIZERS: dict[str, Tokenizer] = {"ptb": ptb, "words": words}


def by_name(name: str) -> Tokenizer:
    """The tokenizer that a recipe or bundle names."""
    try:
        return TOKENIZERS[name]
    except KeyError:
        known = " or ".join(TOKENIZERS)
        raise SeetellError(f"there is no tokenizer {name!r}", remedy=f"Choose {known}.") from None
