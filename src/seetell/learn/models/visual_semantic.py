"""The visual-semantic pipelines of Vilalta et al., section 3.2: a GRU over words beside a linear map of the image.

    c = normalise(GRU(E w_1 … E w_n))            final state, unit norm
    i = normalise(W x)                            no bias

with x the image's features: `pooled` ones brought to unit length (the paper's FC7), or `full_network` ones
standardised and cut to −1/0/+1 (FNE, section 3.1). For order embeddings both sides may be made non-negative by taking
absolute values (Table 1).

Departures: the vocabulary is that of the training split (the paper's also has the validation split's words).
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.models.text import WordVectors, run_packed


class VisualSemantic(nn.Module):
    """Args:
    features: width of the image features.
    words: size of the vocabulary.
    dimensions: of the shared space, which is also the number of GRU units.
    word_dimensions: of a word vector.
    absolute: take absolute values of both embeddings.
    transform: what is done to raw features first; fitted on the training split.
    similarity: the score the embeddings are compared by.
    image_dropout, text_dropout: none in the paper; on a small dataset they keep a wide input from being learned
        by heart.
    """

    def __init__(
        self,
        features: int,
        words: int,
        transform: nn.Module,
        dimensions: int = 1024,
        word_dimensions: int = 300,
        absolute: bool = False,
        similarity: Literal["cosine", "order", "euclidean"] = "cosine",
        image_dropout: float = 0.0,
        text_dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.similarity, self.absolute, self.dimensions = similarity, absolute, dimensions
        self.transform = transform
        self.map = nn.Linear(features, dimensions, bias=False)
        self.words = WordVectors(words, word_dimensions, vectors)
        self.recurrent = nn.GRU(self.words.dimensions, dimensions, batch_first=True)
        self.image_dropout, self.text_dropout = nn.Dropout(image_dropout), nn.Dropout(text_dropout)
        nn.init.xavier_uniform_(self.map.weight)

    def images(self, features: Tensor) -> Tensor:
        """(B, features) → (B, dimensions)."""
        return self._finish(self.map(self.image_dropout(self.transform(features))))

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) word numbers and (B,) lengths → (B, dimensions)."""
        _, final = run_packed(self.recurrent, self.text_dropout(self.words(tokens)), lengths)
        return self._finish(final)

    def _finish(self, vectors: Tensor) -> Tensor:
        unit = normalize(vectors, dim=1)
        return torch.abs(unit) if self.absolute else unit
