"""The interface of all captioners: read a whole caption under teacher forcing, or generate one word at a time.

Captions are word indices and start with the start symbol; position t predicts the caption's word t + 1. In all tensors
of a state, rows come first and all other sizes depend on the model alone, so that rows can be selected without knowing
what they hold, and `start` and `step` can be exported as graphs. (Hence sizes are read as `.shape[0]`: an exporter
takes `len` for a constant.)
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

State = dict[str, Tensor]


@dataclass(frozen=True)
class TeacherForced:
    """A captioner's predictions for whole captions.

    Positions after a caption's end are included and meaningless: mask them before summing.
    """

    logits: Tensor  # (B, T, V): position t predicts word t + 1
    attention: Tensor | None = None  # (B, T, L): the weights α of the grid's locations
    gate: Tensor | None = None  # (B, T): the gate β of the context
    log_location: Tensor | None = None  # (B, T): log p(s̃_t), 0 where the expected context was used
    entropy: Tensor | None = None  # (B, T): of the distribution s̃_t is sampled from
    expected: Tensor | None = None  # (B,): which captions used the expected context


class CaptionModel(nn.Module, ABC):
    """A model that generates captions.

    `constant` names the parts of the state that never change from step to step: an image's own values, which a decoder
    need not move when it reorders the beams of one image. A state's `gate` (B, 1), if any, is the last step's gate β.

    A step may be split in two: `look`, everything that does not depend on the word to be read, and `follow`, the rest.
    Hypotheses that continue the same beam then share one `look`. Models that split their step name the constant parts
    in `shared`: `look` takes these once per image, and `follow` does not read them.
    """

    constant: ClassVar[frozenset[str]] = frozenset()
    shared: ClassVar[frozenset[str]] = frozenset()

    def forward(self, features: Tensor, tokens: Tensor, rows: Tensor | None = None) -> TeacherForced:
        """Predict the next word at every position of captions (B, T).

        Args:
            features: of the captions' images (B, …), or of each image once (P, …).
            tokens: the captions, as word indices.
            rows: with each image once: the image (B,) of each caption.
        """
        state = self.start(features)
        return self.read(tokens, state if rows is None else select(state, rows))

    @abstractmethod
    def start(self, features: Tensor) -> State:
        """Encode images: everything that does not depend on words."""

    @abstractmethod
    def read(self, tokens: Tensor, state: State) -> TeacherForced:
        """Read whole captions (B, T) from the start."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State, Tensor | None]:
        """Read one more word (B,): log-probabilities of the next (B, V), the new state, the attention (B, L)."""

    def look(self, state: State, rows: Sequence[int] | None = None) -> State:
        """What the next step needs of a state.

        Args:
            state: as `start` or `step` returned it.
            rows: how many adjacent rows each image has, if the shared parts are given once per image.
        """
        return state

    def follow(self, tokens: Tensor, looked: State) -> tuple[Tensor, State, Tensor | None]:
        """The rest of `step`, given the result of `look`."""
        return self.step(tokens, looked)


def select(state: State, rows: Tensor) -> State:
    """The given rows of a state, in that order; a row may occur any number of times."""
    return {name: value.index_select(0, rows) for name, value in state.items()}
