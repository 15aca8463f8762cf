"""What the loop asks of a task: a model with its loss, its batches, and how it is validated."""

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


@dataclass(frozen=True)
class Validation:
    """What an epoch was worth: the score that chooses the model, and every figure behind it (nested as in reports)."""

    score: float
    metrics: Mapping[str, Any]


class Task(nn.Module, ABC):
    """A model and its loss, as one module, so that gradients of both are shared between processes.

    Batches come in two steps so that a run can go on in the middle of an epoch: `plan` says, cheaply and from the
    random generator alone, what each batch of an epoch holds; `collate` makes one batch, in a thread of its own.
    """

    model: nn.Module

    @abstractmethod
    def begin(self, phase: Phase) -> None:
        """Set up the loss of a phase."""

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
        """What to tell the user about how training goes; nothing when it goes well."""
        return ""

    def parameter_groups(self, learning_rate: float) -> list[dict[str, Any]]:
        """The parameters and their learning rates: a network that is trained along has its own."""
        groups: list[dict[str, Any]] = [
            {"params": [p for p in live.encoder.parameters() if p.requires_grad], "lr": live.learning_rate}
            for live in self.modules()
            if isinstance(live, LiveEncoder | LaterStages | SentenceMatch)
        ]
        taken = {id(p) for group in groups for p in group["params"]}
        rest = [p for p in self.parameters() if p.requires_grad and id(p) not in taken]
        return [{"params": rest, "lr": learning_rate}, *(group for group in groups if group["params"])]
