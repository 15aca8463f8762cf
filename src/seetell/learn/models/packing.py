"""Captions of differing length without a step spent on padding: the words of a batch, place by place.

A batch of captions (B, T) whose longest come first is read place by place by ever fewer rows. Its words are kept end to
end: those at place 0 of every caption, then those at place 1 of the captions that are that long, and so on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """Which words of a batch are read.

    Args:
        rows: how many captions are read at each place.
        index: where the words (N,) are in a batch laid out flat (B · T,).
    """

    rows: tuple[int, ...]
    index: Tensor
    shape: tuple[int, int]

    @classmethod
    def of(cls, tokens: Tensor) -> "Packing":
        """Captions (B, T), padded with 0. Where the longest do not come first, padding is read like words."""
        count, places = tokens.shape
        words = tokens != 0
        lengths = words.sum(1)
        if bool((lengths.diff() <= 0).all()):
            rows = words.sum(0)
        else:
            rows = torch.full((places,), count, device=tokens.device)
        read = torch.arange(count, device=tokens.device) < rows[:, None]  # (T, B)
        index = torch.arange(count * places, device=tokens.device).view(count, places).t()[read]
        return cls(tuple(rows.tolist()), index, (count, places))

    def pack(self, values: Tensor) -> Tensor:
        """(B, T, …) → (N, …)."""
        return values.flatten(0, 1).index_select(0, self.index)

    def split(self, packed: Tensor) -> Sequence[Tensor]:
        """(N, …) → the rows of each place."""
        return packed.split_with_sizes(self.rows)

    def unpack(self, packed: Tensor) -> Tensor:
        """(N, …) → (B, T, …), zeros elsewhere."""
        count, places = self.shape
        flat = packed.new_zeros(count * places, *packed.shape[1:]).index_copy(0, self.index, packed)
        return flat.view(count, places, *packed.shape[1:])
