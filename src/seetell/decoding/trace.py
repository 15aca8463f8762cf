"""How beam search remembers: back-pointers, and the best sequences that have ended."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seetell.decoding.protocol import Floats, Tokens
from seetell.decoding.result import Decoded

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One token of every live hypothesis: `A` images by `K` slots."""

    images: Integers  # (A,), ascending
    parent: Integers  # (A, K): the slot it continues
    token: Tokens  # (A, K)
    log: Floats  # (A, K)
    weights: Floats | None  # (A, K, L)
    gate: Floats | None  # (A, K)


class Finished:
    """The `keep` best ended sequences of each image, best first: where each stopped, not what it says."""

    def __init__(self, images: int, keep: int) -> None:
        self.score = np.full((images, keep), -np.inf)
        self.step = np.zeros((images, keep), dtype=np.int64)
        self.slot = np.zeros((images, keep), dtype=np.int64)
        self.log = np.full((images, keep), np.nan)  # the end's; NaN: cut off without one

    def add(self, images: Integers, step: int, score: Floats, slot: Integers, log: Floats) -> None:
        """Offer sequences (A, C) that stop in `slot` at `step`; a score of −∞ is no offer."""
        keep = self.score.shape[1]
        order = np.argsort(-np.concatenate([self.score[images], score], axis=1), axis=1, kind="stable")[:, :keep]
        for old, new in (
            (self.score, score),
            (self.step, np.full(score.shape, step)),
            (self.slot, slot),
            (self.log, log),
        ):
            old[images] = np.take_along_axis(np.concatenate([old[images], new], axis=1), order, axis=1)

    def read(self, steps: list[BeamStep]) -> list[list[Decoded]]:
        """Follow the back-pointers of all sequences at once, from their last tokens to their first."""
        image, rank = np.nonzero(self.score > -np.inf)
        length, slot, end = self.step[image, rank], self.slot[image, rank].copy(), self.log[image, rank]
        longest = int(length.max(initial=0))
        tokens = np.zeros((len(image), longest), dtype=np.int64)
        logs = np.zeros((len(image), longest))
        weights = _table(steps, "weights", len(image), longest)
        gate = _table(steps, "gate", len(image), longest)
        for index in range(longest - 1, -1, -1):
            step = steps[index]
            here = np.flatnonzero(length > index)
            at = np.searchsorted(step.images, image[here]), slot[here]
            tokens[here, index], logs[here, index] = step.token[at], step.log[at]
            if weights is not None and step.weights is not None:
                weights[here, index] = step.weights[at]
            if gate is not None and step.gate is not None:
                gate[here, index] = step.gate[at]
            slot[here] = step.parent[at]
        found: list[list[Decoded]] = [[] for _ in self.score]
        for row, (of, size) in enumerate(zip(image.tolist(), length.tolist(), strict=True)):
            ended = not np.isnan(end[row])
            log = np.append(logs[row, :size], end[row]) if ended else logs[row, :size].copy()
            found[of].append(
                Decoded(
                    tokens=tokens[row, :size].copy(),
                    log_probability=float(log.sum()),
                    token_log_probabilities=log,
                    score=float(self.score[of, rank[row]]),
                    ended=ended,
                    attention=None if weights is None else weights[row, :size].copy(),
                    gate=None if gate is None else gate[row, :size].copy(),
                )
            )
        return found


def _table(steps: list[BeamStep], name: str, rows: int, longest: int) -> Floats | None:
    """An empty table for what the steps hold under `name`; None if they hold nothing."""
    first: Floats | None = getattr(steps[0], name) if steps else None
    return None if first is None else np.zeros((rows, longest, *first.shape[2:]), dtype=first.dtype)
