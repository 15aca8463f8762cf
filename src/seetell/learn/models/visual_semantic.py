"""The visual-semantic pipelines of Vilalta et al., section 3.2: a GRU over words and a linear map of the image.

    c = normalise(GRU(E w_1 … E w_n))            final state, unit norm
    i = normalise(W x)                            no bias

with x the image's features: `pooled` ones normalised to unit length (the paper's FC7), or `full_network` ones
standardised and discretised to −1/0/+1 (FNE, section 3.1). For order embeddings both sides may be made non-negative by
taking absolute values (Table 1).

Departures: the vocabulary is that of the training split (the paper's also has the validation split's words).
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.text import WordEmbedding, run_packed
from seetell.learn.recipes.model_settings import VisualSemanticSettings


class VisualSemantic(nn.Module):
    """A GRU on the text side, a linear map on the image side.

    Args:
        settings: see `VisualSemanticSettings`.
        inputs: `features` is the width of the image features.
    """

    def __init__(self, settings: VisualSemanticSettings, inputs: ModelInputs) -> None:
        super().__init__()
        self.similarity, self.absolute = settings.similarity, settings.absolute
        self.dimensions = settings.dimensions
        self.transform = inputs.transform
        self.map = nn.Linear(inputs.features, settings.dimensions, bias=False)
        self.words = WordEmbedding(inputs.words, settings.word_dimensions, inputs.vectors)
        self.recurrent = nn.GRU(self.words.dimensions, settings.dimensions, batch_first=True)
        self.image_dropout, self.text_dropout = nn.Dropout(settings.image_dropout), nn.Dropout(settings.text_dropout)
        nn.init.xavier_uniform_(self.map.weight)

    def images(self, features: Tensor) -> Tensor:
        """(B, features) → (B, dimensions)."""
        return self._finish(self.map(self.image_dropout(self.transform(features))))

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) word indices and (B,) lengths → (B, dimensions)."""
        _, final = run_packed(self.recurrent, self.text_dropout(self.words(tokens)), lengths)
        return self._finish(final)

    def _finish(self, vectors: Tensor) -> Tensor:
        unit = normalize(vectors, dim=1)
        return torch.abs(unit) if self.absolute else unit
