"""What the data decides about a model, as opposed to its settings."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch import Tensor, nn

from seetell.learn.models.sentences import SentenceEncoder


@dataclass(frozen=True)
class ModelInputs:
    """Sizes of features and vocabulary, and what was fitted on the training split before the model is built.

    Args:
        features: width of the image features, after the transform; of one annotation vector for grids.
        words: size of the vocabulary, special symbols included.
        labels: how many labels there are, without special symbols.
        transform: applied to raw features first; fitted on the training split.
        sections: the widths that a row of features is divided into: one for `pooled`, several for `levels`.
        levels: how many features of the network's stages follow the grid; 0: none.
        vectors: pre-trained word vectors or label embeddings (words, d), if any.
        trained: how many of the words, from the first, occur in the training captions; None: all.
        sentences: the frozen sentence encoder of `SentenceMatch`; the installed one by default.
    """

    features: int = 0
    words: int = 0
    labels: int = 0
    transform: nn.Module = field(default_factory=nn.Identity)
    sections: Sequence[int] = ()
    levels: int = 0
    vectors: Tensor | None = None
    trained: int | None = None
    sentences: SentenceEncoder | None = None
