"""Detects ranking training that has not started to learn, and advises what to try.

A model that gives every pair the same score sits on a plateau of the triplet losses, where the loss is the margin for
every triplet (Vilalta et al., section 6, who count a run as not training while its sum of recalls is below 10). Judged
by the loss alone, such a run seems to converge.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seetell.learn.recipes.loss_settings import (
    ContrastiveSettings,
    LossSettings,
    MaxOfHingesSettings,
    SumOfHingesSettings,
    TripletSettings,
)

# The threshold of Vilalta et al., for splits of 1,000 images with five captions each …
STARTED = 10.0
# … whose sum of recalls is this for a random ranking: R@1 + R@5 + R@10 are 0.1 + 0.5 + 1.0 in either direction.
_GUESS = 3.2


def guessed_recalls(images: int, texts: int) -> float:
    """The sum of recalls at 1, 5 and 10 of a random ranking, in both directions, in per cent."""
    each = texts / images  # captions per image

    def image_to_text(k: int) -> float:
        return 1 - math.prod(max(0.0, 1 - each / (texts - drawn)) for drawn in range(min(k, texts)))

    return 100 * sum(min(1.0, k / images) + image_to_text(k) for k in (1, 5, 10))


def started_above(images: int, texts: int) -> float:
    """The sum of recalls above which training has started, for a split of this size.

    It is 10, or as many times the recalls of a random ranking as 10 is for Vilalta et al.; on tiny splits, half-way
    from a random ranking to 600.

    Args:
        images: how many there are.
        texts: how many there are.

    Example:
        >>> started_above(images=1000, texts=5000)
        10.0
    """
    guess = guessed_recalls(images, texts)
    return max(STARTED, min(guess * STARTED / _GUESS, (guess + 600) / 2))


def loss_of_equal_scores(settings: LossSettings, batch: int) -> float:
    """The loss of a batch of pairs whose scores are all equal.

    Args:
        settings: of a ranking loss.
        batch: how many pairs, each with its own image and text.

    Example:
        >>> loss_of_equal_scores(MaxOfHingesSettings(margin=0.2), batch=10)
        4.0
    """
    others = batch - 1
    match settings:
        case ContrastiveSettings():
            return math.log(batch)
        case SumOfHingesSettings(margin=margin, reduction=reduction):
            return 2 * _hinges(batch, others, reduction) * margin
        case MaxOfHingesSettings(margin=margin, reduction=reduction):
            return 2 * _hinges(batch, min(1, others), reduction) * margin
        case TripletSettings(margin=margin, selection=selection):
            few = selection in ("k_hardest", "hardest_anchor")  # as many triplets per anchor or per candidate
            negatives = min(settings.k or 1, others) if few else 0 if selection == "hard" else others
            usual = "sum" if few or selection == "all" else "mean_nonzero"
            return (1 + settings.lambda_) * _hinges(batch, negatives, settings.reduction or usual) * margin
    raise TypeError(f"{settings.kind!r} is not a ranking loss")


def _hinges(batch: int, negatives: int, reduction: str) -> int:
    """How many margins the loss of one direction is worth."""
    return batch * negatives if reduction == "sum" else min(1, negatives)


@dataclass(frozen=True)
class CollapseDetector:
    """Watches the epochs of a phase, by their records only.

    A record has the `epoch`, its mean `loss`, its validation `score` (the sum of recalls) and, optionally, the number
    of `samples` the loss is averaged over: the last batch of an epoch may be smaller, and so are sums over it.

    Args:
        loss: the settings of the loss.
        batch: pairs per batch.
        threshold: the sum of recalls above which a run has started; see `started_above`.
        signed: whether order similarity compares values that may be negative. Every image can then exceed every
            caption in all dimensions: all scores are 0 and nothing is learned any more. Absolute values prevent this.
        first: the first epoch with advice.
        patience: a run that has not started after this many epochs has failed.

    References:
        Vilalta et al., section 6.

    Example:
        >>> detector = CollapseDetector(MaxOfHingesSettings(margin=0.2), batch=10)
        >>> detector.stuck({"epoch": 3, "loss": 4.01, "score": 2.8})
        True
    """

    loss: LossSettings
    batch: int
    threshold: float = STARTED
    signed: bool = False
    first: int = 3
    patience: int = 30

    def started(self, history: Sequence[Mapping[str, Any]]) -> int | None:
        """The first epoch that scored above the threshold."""
        return next((record["epoch"] for record in history if record["score"] > self.threshold), None)

    def failed(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Whether as many epochs as patience allows have passed without a start."""
        return len(history) >= self.patience and self.started(history[: self.patience]) is None

    def stuck(self, record: Mapping[str, Any]) -> bool:
        """Whether the loss is within 2% of that of equal scores."""
        equal = self._equal(record)
        return equal > 0 and abs(record["loss"] - equal) <= 0.02 * equal

    def advice(self, history: Sequence[Mapping[str, Any]]) -> str:
        """Advice after the last epoch: empty while training works, and not repeated every epoch."""
        if not history or history[-1]["score"] > self.threshold:
            return ""
        last, epochs = history[-1], len(history)
        if self.started(history) is not None:
            fallen = history[-2]["score"] > self.threshold
            return f"{self._state(last)} It had started to learn, and has collapsed. {self._remedy()}" if fallen else ""
        if epochs != self.first and epochs % 10:
            return ""
        verdict = "It has failed to start learning." if self.failed(history) else "It has not started to learn."
        return f"{self._state(last)} {verdict} {self._remedy()}"

    def _state(self, record: Mapping[str, Any]) -> str:
        loss = f"the loss, {record['loss']:.4g}, is "
        if self.stuck(record):
            loss += "stuck at that of a model whose scores are all equal"
            loss += "" if isinstance(self.loss, ContrastiveSettings) else " (the margin, for every triplet)"
        else:
            loss += f"not that of equal scores, {self._equal(record):.4g}"
        return (
            f"After epoch {record['epoch']} the sum of recalls is {record['score']:.1f}, hardly better than random "
            f"(learning starts above {self.threshold:.0f}), and {loss}."
        )

    def _remedy(self) -> str:
        tries = []
        hardest = isinstance(self.loss, TripletSettings) and self.loss.selection in (
            "k_hardest",
            "hard",
            "hardest_anchor",
        )
        if hardest or isinstance(self.loss, MaxOfHingesSettings):
            tries.append('a first phase with loss = { kind = "sum" } before this one (a curriculum, as in PH and POE)')
        tries.append("a lower learning rate")
        if self.signed:
            tries.append("model.absolute = true")
        if self.batch < 128:
            tries.append("a larger batch")
        tries.append("another seed")
        return f"Try: {'; '.join(tries)}."

    def _equal(self, record: Mapping[str, Any]) -> float:
        """The loss of equal scores, as the mean over an epoch's samples."""
        whole, rest = divmod(int(record.get("samples", self.batch)), self.batch)
        sizes = [self.batch] * whole + [rest] * (rest > 0)
        return sum(size * loss_of_equal_scores(self.loss, size) for size in sizes) / max(1, sum(sizes))
