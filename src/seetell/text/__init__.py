"""Text: tokenizers, vocabularies, word vectors, and detokenisation."""

from seetell.text.detokenise import detokenise
from seetell.text.tokenizers import PIECES, TOKENIZER_NAMES, TOKENIZERS, Tokenizer, by_name, ptb, words
from seetell.text.vectors import CoverageReport, Phrase, WordVectors, default_vectors, matrix
from seetell.text.vocabulary import (
    END,
    LABEL_SPECIALS,
    PAD,
    SPECIALS,
    START,
    UNKNOWN,
    Coverage,
    Vocabulary,
)

__all__ = [
    "END",
    "LABEL_SPECIALS",
    "PAD",
    "PIECES",
    "SPECIALS",
    "START",
    "TOKENIZERS",
    "TOKENIZER_NAMES",
    "UNKNOWN",
    "Coverage",
    "CoverageReport",
    "Phrase",
    "Tokenizer",
    "Vocabulary",
    "WordVectors",
    "by_name",
    "default_vectors",
    "detokenise",
    "matrix",
    "ptb",
    "words",
]
