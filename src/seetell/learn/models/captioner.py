"""What every captioner can do: read a whole caption under teacher forcing, or tell one word at a time.

Captions are numbers of words and begin with the start mark; the word predicted at place t is the caption's word t + 1.
All tensors have the image's row first and a shape that depends on nothing but the model, so that rows of a state can
be chosen without knowing what is in it, and `start` and `step` can be exported as graphs. (Hence sizes are read as
`.shape[0]`: an exporter takes `len` for a constant.)
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

State = dict[str, Tensor]


@dataclass(frozen=True)
class Teacher:
    """What a captioner made of whole captions.

    Places after a caption's end are there too, and mean nothing: who sums over places masks them.
    """

    logits: Tensor  # (B, T, V): place t predicts word t + 1
    attention: Tensor | None = None  # (B, T, L): the weights α of the places of the grid
    gate: Tensor | None = None  # (B, T): how much of the context is let in
    log_location: Tensor | None = None  # (B, T): log p(s̃_t), 0 where the expected context was used
    entropy: Tensor | None = None  # (B, T): of the distribution s̃_t is drawn from
    expected: Tensor | None = None  # (B,): which captions used the expected context


class CaptionModel(nn.Module, ABC):
    """A model that tells an image in words.

    `constant` names what is in the state but never changes from step to step: an image's own values, which a decoder
    need not move when it reorders the beams of one image. A state's `gate` (B, 1), where it has one, is how much of
    the context the last step let in.

    A step may be split in two: `look`, all that does not depend on the word to be read, and `follow`, the rest. Beams
    that go on from one beam then look together. Models that do so name in `shared` what is constant: `look` takes that
    once an image, and `follow` does not read it.
    """

    constant: ClassVar[frozenset[str]] = frozenset()
    shared: ClassVar[frozenset[str]] = frozenset()

    def forward(self, features: Tensor, tokens: Tensor, rows: Tensor | None = None) -> Teacher:
        """Predict the next word at every place of captions (B, T).

        Args:
            features: of the captions' images (B, …), or of each image once (P, …)
            rows: and then the image (B,) of each caption.
        """
        state = self.start(features)
        return self.read(tokens, state if rows is None else select(state, rows))

    @abstractmethod
    def start(self, features: Tensor) -> State:
        """Look at images, once: everything that does not depend on words."""

    @abstractmethod
    def read(self, tokens: Tensor, state: State) -> Teacher:
        """Read whole captions (B, T) from the start."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        """Read one more word (B,): log-probabilities of the next (B, V), the new state, the attention paid (B, L)."""

    def look(self, state: State, rows: Sequence[int] | None = None) -> State:
        """What the next step needs of a state.

        Args:
            rows: how many rows, side by side, each image has, if what is shared is given once an image.
        """
        return state

    def follow(self, tokens: Tensor, looked: State) -> tuple[Tensor, State, Tensor | None]:
        """`step`, from what `look` made of the state."""
        return self.step(tokens, looked)


def select(state: State, rows: Tensor) -> State:
    """The given rows of a state, in that order, any of them any number of times."""
    return {name: value.index_select(0, rows) for name, value in state.items()}
