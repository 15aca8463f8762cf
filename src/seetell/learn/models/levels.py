"""The levels of a network's features as a sequence, and attention over them (Ren, section 3.4).

With encoder outputs h_i and the decoder's output d_t, batch first:

    s_i^t = tanh(h_i W_1 + d_t W_2 + b) v^T            (3)
    a^t = softmax(s^t)                                   (4)
    c_t = Σ_i a_i^t h_i                                  (5)
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from seetell.learn.recipes import RecipeError


class Levels(nn.Module):
    """Maps each section of a feature row to one width, giving a sequence.

    Args:
        sections: the widths that the row is divided into, first stage first.
        width: of each mapped section.
        dropout: on the features.
    """

    def __init__(self, sections: Sequence[int], width: int, dropout: float) -> None:
        super().__init__()
        if len(sections) < 2:
            raise RecipeError(
                "there is only one level of features to read",
                where="[encoder] layout",
                remedy='Set layout = "levels", or attention = false for a model that does not need it',
            )
        self.sections = list(sections)
        self.maps = nn.ModuleList(nn.Linear(section, width) for section in sections)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        """(B, Σ sections) → (B, levels, width)."""
        parts = self.dropout(features).split(self.sections, dim=1)
        return torch.stack([each(part) for each, part in zip(self.maps, parts, strict=True)], dim=1)


class AdditiveAttention(nn.Module):
    """Equations 3 to 5; `keys` computes h_i W_1 + b, which does not depend on d_t, once.

    Args:
        outputs: width of h_i.
        units: width of d_t.
        dimensions: width of the hidden layer.
    """

    def __init__(self, outputs: int, units: int, dimensions: int) -> None:
        super().__init__()
        self.keys = nn.Linear(outputs, dimensions)  # W_1 and b
        self.query = nn.Linear(units, dimensions, bias=False)  # W_2
        self.energy = nn.Linear(dimensions, 1, bias=False)  # v

    def forward(self, keys: Tensor, outputs: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
        """c_t (B, outputs) and a^t (B, levels)."""
        scores: Tensor = self.energy(torch.tanh(keys + self.query(d)[:, None])).squeeze(2)
        attention = scores.softmax(1)
        return (attention[:, None] @ outputs).squeeze(1), attention
