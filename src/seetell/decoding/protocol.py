"""What decoding requires of a model, and the rules that every decoding method follows."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

State = TypeVar("State")
Floats = npt.NDArray[np.floating[Any]]
Tokens = npt.NDArray[np.int64]


class Attended(NamedTuple):
    """The attention with which a token is chosen.

    Args:
        weights: of each cell of the feature grid, (R, L).
        gate: how much of the attended features is used (Xu et al.'s β), (R,); None for models without a gate.

    Example:
        >>> Attended(np.full((1, 4), 0.25)).gate is None
        True
    """

    weights: Floats  # (R, L)
    gate: Floats | None = None  # (R,)


class Decoder(Protocol[State]):
    """A model that generates tokens, many rows at a time.

    A row is one hypothesis for one image. Decoding never looks inside a state: it only selects rows of it, in any
    order, some of them more than once. `MarkovChain` is the simplest implementation.
    """

    def start(self, features: Any) -> State:
        """The state before the first token, one row per image."""
        ...

    def step(self, tokens: Tokens, state: State) -> tuple[Floats, State, Floats | Attended | None]:
        """Read the last token of each row (R,) and predict the next.

        Returns:
            The log-probabilities of the next token (R, V), an array that the caller may change; the state after the
            token; and the attention (R, L) with which the next token is chosen: None for models without attention,
            `Attended` for those with a gate as well.
        """
        ...

    def select(self, state: State, rows: npt.NDArray[np.intp]) -> State:
        """The state of these rows."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What a sequence may contain.

    Args:
        start: the token before the first one; never generated.
        end: the token that ends a sequence; not part of it.
        max_length: the most tokens of a sequence, not counting the end.
        min_length: the fewest.
        forbidden: tokens that are never generated (padding, unknown).
        block_ngrams: no n-gram of this many tokens occurs twice in a sequence; 0 allows repetition, 1 generates no
            token twice, as label sequences require.

    Example:
        >>> rules = Rules(start=0, end=2, max_length=3, forbidden=(1,))
        >>> rules.apply(np.zeros((1, 4)), done=0, written=None)
        array([[-inf, -inf,   0.,   0.]])
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
        """Set to −∞ what may not follow. Changes `log_probs` in place if it is writeable.

        Args:
            log_probs: of the next token, (R, V).
            done: how many tokens each row has.
            written: those tokens, (R, done); only needed for `block_ngrams`.
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
        # Where in the history do the last n − 1 tokens occur?
        same = np.ones((len(written), done - before), dtype=bool)
        for offset in range(before):
            same &= written[:, offset : offset + done - before] == written[:, done - before + offset, None]
        rows, starts = np.nonzero(same)
        return rows, written[rows, starts + before]


def attention_of(attention: Floats | Attended | None) -> tuple[Floats | None, Floats | None]:
    """The weights and the gate of what a step returned."""
    return (attention.weights, attention.gate) if isinstance(attention, Attended) else (attention, None)
