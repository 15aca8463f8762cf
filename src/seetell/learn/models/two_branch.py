"""The two-branch embedding network of Kolluru, section 3.1: fully connected layers over given features of each side.

    branch(x) = normalise(BN(W_n … ReLU(W_1 x)))

The image side reads the network's penultimate vector, the text side the mean of the sentence's GloVe vectors: a bag
of words, as the paper says. ReLU and dropout (keep probability 0.5) follow every layer but the last, after which
comes batch normalisation without ReLU, then the L2 norm.

Departures: the paper does not give the widths of its layers; 2,048 and 512 are those of Wang et al., whose network
it follows.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.models.text import WordVectors, mean_over_words


def branch(widths: Sequence[int], dropout: float) -> nn.Sequential:
    """Fully connected layers of the given widths, ReLU and dropout between them, batch normalisation at the end."""
    layers: list[nn.Module] = []
    for inside, outside in pairwise(widths):
        layers += [nn.Linear(inside, outside), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers[:-2], nn.BatchNorm1d(widths[-1]))


class TwoBranch(nn.Module):
    """Args:
    features: width of the image features.
    words: size of the vocabulary.
    layers: widths of each branch's layers; the last is that of the shared space.
    dropout: share of units dropped after each ReLU.
    vectors: the word vectors, which stay as they are; learned ones where none are given.
    """

    def __init__(
        self,
        features: int,
        words: int,
        transform: nn.Module,
        layers: Sequence[int] = (2048, 512),
        dropout: float = 0.5,
        word_dimensions: int = 300,
        vectors: Tensor | None = None,
        similarity: Literal["cosine", "order", "euclidean"] = "euclidean",
    ) -> None:
        super().__init__()
        self.similarity, self.dimensions = similarity, layers[-1]
        self.transform = transform
        self.words = WordVectors(words, word_dimensions, vectors, mode="frozen")
        self.image_branch = branch([features, *layers], dropout)
        self.text_branch = branch([self.words.dimensions, *layers], dropout)

    def images(self, features: Tensor) -> Tensor:
        """(B, features) → (B, layers[-1])."""
        return normalize(self.image_branch(self.transform(features)), dim=1)

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) word numbers and (B,) lengths → (B, layers[-1])."""
        return normalize(self.text_branch(mean_over_words(self.words(tokens), lengths)), dim=1)
