"""The words that fit pictures best, as a graph: with them a captioner tells again what it told badly."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.evaluation.alike import content_words
from seetell.learn.export.graphs import to_onnx
from seetell.runtime import AnyPicture, Suite

CANDIDATES = 1200  # the most frequent content words of the captioner's vocabulary
CHOSEN = 6  # of them for a picture
USUAL = 1000  # pictures of the training split are enough to show what is usual


class FittingWords(nn.Module):
    """Embeddings of pictures to the tokens of the words that fit each of them most beyond what is usual.

    Args:
        usual: the mean embedding of pictures, each of unit length (D,): some words fit everything.
        words: embeddings of words, of unit length (W, D).
        tokens: their numbers in the captioner's vocabulary (W,).
    """

    usual: Tensor
    words: Tensor
    tokens: Tensor

    def __init__(self, usual: Tensor, words: Tensor, tokens: Tensor) -> None:
        super().__init__()
        for name, value in (("usual", usual), ("words", words.T.contiguous()), ("tokens", tokens)):
            self.register_buffer(name, value)

    def forward(self, embeddings: Tensor) -> Tensor:
        fits = (nn.functional.normalize(embeddings) - self.usual) @ self.words
        return self.tokens[fits.topk(min(CHOSEN, len(self.tokens))).indices]


def fitting_words(suite: Suite, pictures: Sequence[AnyPicture]) -> bytes:
    """The graph for the captioner and the retriever of a suite; `pictures`, of the training split, show what is usual.

    Raises:
        SeetellError: the retriever does not compare by cosine, or no picture can be read.
    """
    retriever, vocabulary = suite.retriever, suite.captioner.vocabulary
    if retriever.similarity.name != "cosine":
        raise SeetellError(
            f"--again needs a retriever that compares by cosine, not {retriever.similarity.name}",
            remedy="Leave out --again, or train another retriever",
        )
    embeddings = [result.vector for result in retriever.pictures(pictures) if result.error is None]
    if not embeddings:
        raise SeetellError("no picture of the training split can be read", remedy="Look at it with: seetell check")
    numbers = [number for number in range(len(vocabulary)) if _may_be_required(vocabulary.word(number))][:CANDIDATES]
    if not numbers:
        raise SeetellError("the captioner knows no words with content", remedy="Leave out --again")
    words = retriever.texts([vocabulary.word(number) for number in numbers])
    unit = nn.functional.normalize
    usual = unit(torch.from_numpy(np.stack(embeddings))).mean(0)
    module = FittingWords(usual, unit(torch.from_numpy(words)), torch.tensor(numbers))
    return to_onnx(module, {"embeddings": torch.from_numpy(np.stack(embeddings * 2)[:2])}, ["tokens"])


def _may_be_required(word: str) -> bool:
    """Whether a caption can be asked to contain it: a word with content, and no special symbol."""
    return content_words([word]) == [word]
