"""The two-branch embedding network of Kolluru, section 3.1: fully connected layers over fixed features of each side.

    branch(x) = normalise(BN(W_n … ReLU(W_1 x)))

The image side reads the network's penultimate vector, the text side the mean of the sentence's GloVe vectors, a bag
of words. ReLU and dropout (keep probability 0.5) follow every layer but the last, which is followed by batch
normalisation without ReLU, then by L2 normalisation.

Departures: the paper does not give the widths of its layers; 2,048 and 512 are those of Wang et al., whose network
it follows.
"""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.text import WordEmbedding, mean_over_words
from seetell.learn.recipes.model_settings import TwoBranchSettings


def branch(widths: Sequence[int], dropout: float) -> nn.Sequential:
    """Fully connected layers of the given widths, ReLU and dropout between them, batch normalisation at the end."""
    layers: list[nn.Module] = []
    for inside, outside in pairwise(widths):
        layers += [nn.Linear(inside, outside), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers[:-2], nn.BatchNorm1d(widths[-1]))


class TwoBranch(nn.Module):
    """A branch of fully connected layers per side.

    Args:
        settings: see `TwoBranchSettings`.
        inputs: `features` is the width of the image features; `vectors` stay fixed.
    """

    def __init__(self, settings: TwoBranchSettings, inputs: ModelInputs) -> None:
        super().__init__()
        self.similarity, self.dimensions = settings.similarity, settings.layers[-1]
        self.transform = inputs.transform
        self.words = WordEmbedding(inputs.words, settings.word_dimensions, inputs.vectors, mode="frozen")
        self.image_branch = branch([inputs.features, *settings.layers], settings.dropout)
        self.text_branch = branch([self.words.dimensions, *settings.layers], settings.dropout)

    def images(self, features: Tensor) -> Tensor:
        """(B, features) → (B, layers[-1])."""
        return normalize(self.image_branch(self.transform(features)), dim=1)

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) word indices and (B,) lengths → (B, layers[-1])."""
        return normalize(self.text_branch(mean_over_words(self.words(tokens), lengths)), dim=1)
