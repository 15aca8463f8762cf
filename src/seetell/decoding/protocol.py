"""What decoding asks of a model, and the rules that every way of decoding keeps to."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

State = TypeVar("State")
Floats = npt.NDArray[np.floating[Any]]
Tokens = npt.NDArray[np.int64]


class Attended(NamedTuple):
    """Where a model looked for a word, and how much it made of what it saw (Xu et al.'s β)."""

    weights: Floats  # (R, L)
    gate: Floats | None = None  # (R,)


class Decoder(Protocol[State]):
    """A model that writes tokens, many rows at a time.

    A row is one hypothesis about one image. Decoding never looks inside a state: it only asks for some of its rows,
    in any order, some of them more than once.
    """

    def start(self, features: Any) -> State:
        """The state before the first token, one row an image."""
        ...

    def step(self, tokens: Tokens, state: State) -> tuple[Floats, State, Floats | Attended | None]:
        """Read the last token of each row (R,) and say what may follow.

        Returns:
            The logarithms of the next tokens' probabilities (R, V), an array that is the caller's to change; the state
            after the token; and the attention (R, L) with which the next token is chosen, None for models that have
            none, `Attended` for those that have a gate besides.
        """
        ...

    def select(self, state: State, rows: npt.NDArray[np.intp]) -> State:
        """The state of these rows."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What a sequence may be.

    Args:
        start: the token that stands before the first; never written.
        end: the token that ends a sequence; not part of it.
        max_length: the most tokens a sequence may have, the end not counted.
        min_length: the fewest.
        forbidden: tokens that are never written (padding, unknown).
        block_ngrams: no n-gram of so many tokens occurs twice in a sequence; 0 allows all. 1 writes no token twice,
            which is what sequences of labels need.
    """

    start: int
    end: int
    max_length: int = 20
    min_length: int = 0
    forbidden: tuple[int, ...] = ()
    block_ngrams: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.min_length <= self.max_length:
            raise ValueError(f"a sequence cannot have from {self.min_length} to {self.max_length} tokens")
        if self.block_ngrams < 0:
            raise ValueError("block_ngrams counts tokens: 0 (allow all), 1, 2, …")
        if self.end in self.forbidden:
            raise ValueError("the end cannot be forbidden")

    def apply(self, log_probs: Floats, done: int, written: Tokens | None) -> Floats:
        """Rule out, with −∞, what may not follow the `done` tokens of each row. Changes `log_probs` in place.

        `written` (R, done) are those tokens; only `block_ngrams` needs them.
        """
        allowed = log_probs if log_probs.flags.writeable else log_probs.copy()
        if done >= self.max_length:
            end = allowed[:, self.end].copy()
            allowed[:] = -np.inf
            allowed[:, self.end] = end
            return allowed
        allowed[:, [self.start, *self.forbidden]] = -np.inf
        if done < self.min_length:
            allowed[:, self.end] = -np.inf
        if written is not None and 0 < self.block_ngrams <= done:
            allowed[self._repeats(written)] = -np.inf
        return allowed

    def _repeats(self, written: Tokens) -> tuple[npt.NDArray[np.intp], Tokens]:
        """Rows and tokens that would end an n-gram for the second time."""
        before = self.block_ngrams - 1
        done = written.shape[1]
        # Does the history at each place read as the last n − 1 tokens do?
        same = np.ones((len(written), done - before), dtype=bool)
        for offset in range(before):
            same &= written[:, offset : offset + done - before] == written[:, done - before + offset, None]
        rows, places = np.nonzero(same)
        return rows, written[rows, places + before]


def attention_of(attention: Floats | Attended | None) -> tuple[Floats | None, Floats | None]:
    """Weights and gate of whatever a step returned."""
    return (attention.weights, attention.gate) if isinstance(attention, Attended) else (attention, None)
