"""The words that fit images best, as a graph: with them a captioner tells again what it told badly."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.evaluation.word_matches import content_words
from seetell.learn.export.graphs import to_onnx
from seetell.runtime import ImageLike, Model

CANDIDATES = 1200  # the most frequent content words of the captioner's vocabulary
CHOSEN = 6  # of them for an image
USUAL = 1000  # images of the training split are enough to show what is usual


class FittingWords(nn.Module):
    """Embeddings of images to the tokens of the words that fit each of them most beyond what is usual.

    Args:
        usual: the mean embedding of images, each of unit length (D,): some words fit everything.
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


def fitting_words(model: Model, images: Sequence[ImageLike]) -> bytes:
    """The graph for the captioner and the retriever of a model; `images`, of the training split, show what is usual.

    Raises:
        SeetellError: the retriever does not compare by cosine, or no image can be read.
    """
    retriever, vocabulary = model.retriever, model.captioner.vocabulary
    if retriever.similarity.name != "cosine":
        raise SeetellError(
            f"--retry-below needs a retriever that compares by cosine, not {retriever.similarity.name}",
            remedy="Leave out --retry-below, or train another retriever",
        )
    embeddings = [result.vector for result in retriever.images(images) if result.error is None]
    if not embeddings:
        raise SeetellError("no image of the training split can be read", remedy="Look at it with: seetell check")
    numbers = [number for number in range(len(vocabulary)) if _may_be_required(vocabulary.word(number))][:CANDIDATES]
    if not numbers:
        raise SeetellError("the captioner knows no words with content", remedy="Leave out --retry-below")
    words = retriever.embed_texts([vocabulary.word(number) for number in numbers])
    unit = nn.functional.normalize
    usual = unit(torch.from_numpy(np.stack(embeddings))).mean(0)
    module = FittingWords(usual, unit(torch.from_numpy(words)), torch.tensor(numbers))
    return to_onnx(module, {"embeddings": torch.from_numpy(np.stack(embeddings * 2)[:2])}, ["tokens"])


def _may_be_required(word: str) -> bool:
    """Whether a caption can be asked to contain it: a word with content, and no special symbol."""
    return content_words([word]) == [word]
