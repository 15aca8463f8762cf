"""The words most similar to an image, as a graph: a captioner retries with them when its caption is not similar."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.evaluation.word_matches import content_words
from seetell.learn.onnx_graphs import to_onnx
from seetell.runtime import ImageLike, Model

CANDIDATES = 1200  # the most frequent content words of the captioner's vocabulary
CHOSEN = 6  # words per image
TYPICAL = 1000  # images of the training split are enough for a mean embedding


class SimilarWords(nn.Module):
    """From embeddings of images to the tokens of the words whose similarity exceeds their mean similarity most.

    Args:
        mean: the mean embedding of images, each of unit length (D,): some words are similar to every image.
        words: embeddings of words, of unit length (W, D).
        tokens: their indices in the captioner's vocabulary (W,).
    """

    mean: Tensor
    words: Tensor
    tokens: Tensor

    def __init__(self, mean: Tensor, words: Tensor, tokens: Tensor) -> None:
        super().__init__()
        for name, value in (("mean", mean), ("words", words.T.contiguous()), ("tokens", tokens)):
            self.register_buffer(name, value)

    def forward(self, embeddings: Tensor) -> Tensor:
        excess = (nn.functional.normalize(embeddings) - self.mean) @ self.words
        return self.tokens[excess.topk(min(CHOSEN, len(self.tokens))).indices]


def similar_words(model: Model, images: Sequence[ImageLike]) -> bytes:
    """The graph for the captioner and the retriever of a model.

    Args:
        images: of the training split, for the mean embedding.

    Raises:
        SeetellError: the retriever's similarity is not the cosine, or no image can be read.
    """
    retriever, vocabulary = model.retriever, model.captioner.vocabulary
    if retriever.similarity.name != "cosine":
        raise SeetellError(
            f"--retry-below needs a retriever with cosine similarity, not {retriever.similarity.name}",
            remedy="Leave out --retry-below, or train another retriever",
        )
    embeddings = [result.vector for result in retriever.images(images) if result.error is None]
    if not embeddings:
        raise SeetellError("no image of the training split can be read", remedy="Check it with: seetell check")
    numbers = [number for number in range(len(vocabulary)) if _may_be_required(vocabulary.word(number))][:CANDIDATES]
    if not numbers:
        raise SeetellError("the captioner's vocabulary has no content words", remedy="Leave out --retry-below")
    words = retriever.embed_texts([vocabulary.word(number) for number in numbers])
    unit = nn.functional.normalize
    mean = unit(torch.from_numpy(np.stack(embeddings))).mean(0)
    module = SimilarWords(mean, unit(torch.from_numpy(words)), torch.tensor(numbers))
    return to_onnx(module, {"embeddings": torch.from_numpy(np.stack(embeddings * 2)[:2])}, ["tokens"])


def _may_be_required(word: str) -> bool:
    """Whether a caption can be required to contain it: a content word, and no special symbol."""
    return content_words([word]) == [word]
