"""Captions of different lengths without computing padding: the words of a batch, position by position.

A batch of captions (B, T), sorted by length with the longest first, is read position by position with fewer and fewer
rows. Its words are concatenated: those at position 0 of every caption, then those at position 1 of the captions that
are that long, and so on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """Which words of a batch are read.

    Args:
        rows: how many captions are read at each position.
        index: of the words (N,) in the flattened batch (B · T,).
        shape: (B, T).
    """

    rows: tuple[int, ...]
    index: Tensor
    shape: tuple[int, int]

    @classmethod
    def of(cls, tokens: Tensor) -> "Packing":
        """Captions (B, T), padded with 0. If they are not sorted by length, padding is read like words."""
        count, positions = tokens.shape
        words = tokens != 0
        lengths = words.sum(1)
        if bool((lengths.diff() <= 0).all()):
            rows = words.sum(0)
        else:
            rows = torch.full((positions,), count, device=tokens.device)
        read = torch.arange(count, device=tokens.device) < rows[:, None]  # (T, B)
        index = torch.arange(count * positions, device=tokens.device).view(count, positions).t()[read]
        return cls(tuple(rows.tolist()), index, (count, positions))

    def pack(self, values: Tensor) -> Tensor:
        """(B, T, …) → (N, …)."""
        return values.flatten(0, 1).index_select(0, self.index)

    def split(self, packed: Tensor) -> Sequence[Tensor]:
        """(N, …) → the rows of each position."""
        return packed.split_with_sizes(self.rows)

    def unpack(self, packed: Tensor) -> Tensor:
        """(N, …) → (B, T, …), zeros elsewhere."""
        count, positions = self.shape
        flat = packed.new_zeros(count * positions, *packed.shape[1:]).index_copy(0, self.index, packed)
        return flat.view(count, positions, *packed.shape[1:])
