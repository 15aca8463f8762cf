"""The words of a run: the training split's vocabulary and its word vectors."""

from collections.abc import Iterable
from itertools import islice

import torch
from torch import Tensor

from seetell.data import Record
from seetell.learn.recipes import TextSettings
from seetell.learn.training.warm_start import WarmStart
from seetell.text import Tokenizer, Vocabulary, WordVectors, default_vectors, matrix


def starting_vocabulary(
    records: Iterable[Record], text: TextSettings, tokenizer: Tokenizer, warm_start: WarmStart | None = None
) -> Vocabulary:
    """The vocabulary of the training split's captions; with a warm start, its words come first."""
    vocabulary = Vocabulary.build(
        (tokenizer(caption) for record in records for caption in record.captions),
        minimum_count=text.minimum_count,
        maximum_size=text.maximum_size or None,
    )
    return warm_start.words(vocabulary) if warm_start else vocabulary


def with_vectors(vocabulary: Vocabulary, text: TextSettings) -> tuple[Vocabulary, Tensor]:
    """A recipe's word vectors for a vocabulary.

    `text.extra_words` appends that many of the most frequent words that have a vector but occur in no training caption:
    a model with frozen vectors can read them.
    """
    wanted = None if text.extra_words else vocabulary.words
    vectors = default_vectors(wanted) if text.vectors == "default" else WordVectors.read(text.vectors, wanted)
    if text.extra_words:
        # GloVe's files hold a few "words" with white space inside, which no tokenizer produces.
        usable = (word for word in vectors.words if word.islower() and len(word.split()) == 1)
        new = (word for word in usable if word not in vocabulary)
        vocabulary = Vocabulary([*vocabulary.words, *islice(new, text.extra_words)], vocabulary.specials)
    rows, _ = matrix(vocabulary, vectors, seed=0)
    return vocabulary, torch.from_numpy(rows)
