"""Random choices that give the same scene on every platform."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


class Chance:
    """PCG64 seeded with integers, read through its raw 64-bit words.

    NumPy guarantees the raw stream of a bit generator, while the methods of `Generator` may change between versions.

    Args:
        seed: one integer or several.
    """

    def __init__(self, *seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * (int(self._bits.random_raw()) >> 11) / 2**53

    def below(self, n: int) -> int:
        return int(self.between(0, n))

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def one_in(self, n: int) -> bool:
        return self.below(n) == 0

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in items]
