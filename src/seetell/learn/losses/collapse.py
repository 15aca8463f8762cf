"""Says in words when ranking training has not started to learn, and what to try.

The triplet losses have a trap: a model that gives every pair the same score sits on a plateau where the loss is the
margin for every triplet (Vilalta et al., section 6, who count a run as not training while its sum of recalls is below
10). Looking at the loss alone, such a run seems to converge.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What Vilalta et al. call started, on splits of 1,000 images with five captions each …
STARTED = 10.0
# … on which a guess has this sum of recalls: R@1 + R@5 + R@10 are 0.1 + 0.5 + 1.0 in either direction.
_GUESS = 3.2


def guessed_recalls(images: int, texts: int) -> float:
    """The sum of recalls at 1, 5 and 10 of a random ranking, in both directions, in per cent."""
    each = texts / images  # captions an image

    def image_to_text(k: int) -> float:
        return 1 - math.prod(max(0.0, 1 - each / (texts - drawn)) for drawn in range(min(k, texts)))

    return 100 * sum(min(1.0, k / images) + image_to_text(k) for k in (1, 5, 10))


def started_above(images: int, texts: int) -> float:
    """The sum of recalls above which training has started on a split of so many images and texts.

    It is 10, or as many times a guess as 10 is for Vilalta et al.; on tiny splits, half-way from a guess to 600.
    """
    guess = guessed_recalls(images, texts)
    return max(STARTED, min(guess * STARTED / _GUESS, (guess + 600) / 2))


def loss_of_equal_scores(settings: Mapping[str, Any], batch: int) -> float:
    """The loss of a batch of pairs whose scores are all equal.

    Args:
        settings: of the loss, as in a recipe: `{ kind = "max", margin = 0.2 }`.
        batch: how many pairs, each of an image and a text of its own.
    """
    kind, others = settings["kind"], batch - 1
    if kind == "contrastive":
        return math.log(batch)
    triplet = kind == "triplet"
    selection = settings.get("selection", "all") if triplet else {"sum": "all", "max": "k_hardest"}[kind]
    few = ("k_hardest", "hardest_anchor")  # as many triplets, whether each anchor's hardest or each candidate's
    negatives = min(settings.get("k", 1), others) if selection in few else 0 if selection == "hard" else others
    reduction = settings.get("reduction", "sum" if selection in ("all", *few) else "mean_nonzero")
    hinges = batch * negatives if reduction == "sum" else min(1, negatives)
    directions = 1 + (settings.get("lambda", 1.0) if triplet else 1.0)
    return float(directions * hinges * settings.get("margin", 0.1 if triplet else 0.2))


@dataclass(frozen=True)
class CollapseDetector:
    """Watches the epochs of a phase; knows nothing but their records.

    A record has the `epoch`, its mean `loss`, its validation `score` (the sum of recalls) and, if it likes, how many
    `samples` the loss is the mean over: batches at the end of an epoch are smaller, and so are sums over them.

    Args:
        loss: the settings of the loss, as in a recipe.
        batch: pairs a batch.
        threshold: the sum of recalls above which a run has started; see `started_above`.
        signed: whether order similarity compares numbers that may be negative. Then every image can lie above every
            caption, all scores are 0, and nothing is learned any more; absolute values leave no such way out.
        first: the first epoch worth a word.
        patience: a run that has not started after so many epochs has failed.
    """

    loss: Mapping[str, Any]
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
        """Whether the loss is within 2 % of that of equal scores."""
        equal = self._equal(record)
        return equal > 0 and abs(record["loss"] - equal) <= 0.02 * equal

    def advice(self, history: Sequence[Mapping[str, Any]]) -> str:
        """What there is to say after the last epoch: nothing while all goes well, and not every epoch the same."""
        if not history or history[-1]["score"] > self.threshold:
            return ""
        last, epochs = history[-1], len(history)
        if self.started(history) is not None:
            fallen = history[-2]["score"] > self.threshold
            return f"{self._state(last)} It had learned, and has collapsed. {self._remedy()}" if fallen else ""
        if epochs != self.first and epochs % 10:
            return ""
        verdict = "It has failed to start learning." if self.failed(history) else "It has not started to learn."
        return f"{self._state(last)} {verdict} {self._remedy()}"

    def _state(self, record: Mapping[str, Any]) -> str:
        loss = f"the loss, {record['loss']:.4g}, is "
        if self.stuck(record):
            loss += "stuck at that of a model whose scores are all equal"
            loss += "" if self.loss["kind"] == "contrastive" else " (the margin, for every triplet)"
        else:
            loss += f"not that of equal scores, {self._equal(record):.4g}"
        return (
            f"After epoch {record['epoch']} the sum of recalls is {record['score']:.1f}, hardly better than guessing "
            f"(learning starts above {self.threshold:.0f}), and {loss}."
        )

    def _remedy(self) -> str:
        tries = []
        kind = self.loss["kind"]
        if kind == "max" or self.loss.get("selection") in ("k_hardest", "hard", "hardest_anchor"):
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
