"""What the training loop asks of a task: a model with its loss, its batches, and how it is validated."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from seetell.learn.models.later_stages import LaterStages
from seetell.learn.models.live_encoder import LiveEncoder
from seetell.learn.models.sentence_match import SentenceMatch
from seetell.learn.recipes import Phase
from seetell.text import Vocabulary


@dataclass(frozen=True)
class Validation:
    """The result of validating an epoch.

    Args:
        score: selects the best epoch; higher is better.
        metrics: all metrics behind it, nested as in reports.
    """

    score: float
    metrics: Mapping[str, Any]


@dataclass(frozen=True)
class Prediction:
    """What a model predicted for one image of a split.

    Args:
        image: the record's key.
        truth: the reference captions, or the labels.
        predicted: the caption (one entry), or the labels in the model's order.
        score: of this image alone, where the task has such a score (CIDEr for captions).
    """

    image: str
    truth: tuple[str, ...]
    predicted: tuple[str, ...]
    score: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """The result of evaluating a run on a split.

    Args:
        metrics: nested by direction or group, as in reports.
        protocol: how the metrics were computed, in words.
        images: how many images were evaluated.
        notes: what a reader should know: METEOR not available, degenerate captions, unknown labels.
        seconds: how long decoding took; None for tasks that do not decode.
        unseen_words: retrieval: recall of captions with words that no training caption has, and of the other captions.
        predictions: captions or labels of every image; empty for retrieval.
    """

    metrics: Mapping[str, Any]
    protocol: str
    images: int
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    unseen_words: Mapping[str, Any] | None = None
    predictions: Sequence[Prediction] = ()

    def __repr__(self) -> str:
        return f"Evaluation({self.images} images, {self.protocol})"

    def report(self) -> dict[str, Any]:
        """The evaluation as JSON values, without the predictions."""
        found: dict[str, Any] = {"metrics": dict(self.metrics), "protocol": self.protocol, "images": self.images}
        if self.notes:
            found["notes"] = list(self.notes)
        if self.seconds is not None:
            found["seconds_decoding"] = round(self.seconds, 4)
        if self.unseen_words is not None:
            found["unseen_words"] = dict(self.unseen_words)
        return found


class Task(nn.Module, ABC):
    """A model and its loss, as one module, so that gradients of both are shared between processes.

    Batches are made in two steps, so that a run can resume in the middle of an epoch: `plan` decides, cheaply and from
    the random generator alone, what each batch of an epoch holds; `collate` makes one batch, in a thread of its own.
    """

    model: nn.Module

    @abstractmethod
    def begin(self, phase: Phase) -> None:
        """Make the loss of a phase."""

    @abstractmethod
    def plan(self, phase: Phase, random: np.random.Generator) -> Sequence[Any]:
        """What each batch of an epoch holds."""

    @abstractmethod
    def collate(self, item: Any, random: np.random.Generator) -> Any:
        """Make a planned batch: a nesting of tensors that can be moved to a device."""

    @abstractmethod
    def forward(self, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a batch, and figures to log."""

    @abstractmethod
    def validate(self) -> Validation:
        """Score the model, in evaluation mode, on the validation split."""

    def size(self, batch: Any) -> int:
        """How many samples a batch holds; the first tensor's rows unless a task knows better."""
        return len(batch[0])

    def advice(self, history: Sequence[Mapping[str, Any]]) -> str:
        """A warning for the user when training goes wrong; empty when it goes well."""
        return ""

    def parameter_groups(self, learning_rate: float) -> list[dict[str, Any]]:
        """The parameters and their learning rates: an encoder that is fine-tuned jointly has its own."""
        groups: list[dict[str, Any]] = [
            {"params": [p for p in live.encoder.parameters() if p.requires_grad], "lr": live.learning_rate}
            for live in self.modules()
            if isinstance(live, LiveEncoder | LaterStages | SentenceMatch)
        ]
        taken = {id(p) for group in groups for p in group["params"]}
        rest = [p for p in self.parameters() if p.requires_grad and id(p) not in taken]
        return [{"params": rest, "lr": learning_rate}, *(group for group in groups if group["params"])]


@dataclass(frozen=True)
class Setup:
    """A task that is ready to train.

    Args:
        vocabulary: the words or labels of the model, if it has any.
        sizes: sizes that depend on the data (words, labels, word-vector dimensions): all that is needed, together with
            the recipe and the feature layout, to build the model again.
    """

    task: Task
    vocabulary: Vocabulary | None
    sizes: Mapping[str, int]
