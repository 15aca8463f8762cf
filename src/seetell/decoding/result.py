"""What decoding gives back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seetell.decoding.protocol import Floats, Tokens


@dataclass(frozen=True, slots=True)
class Decoded:
    """A sequence of tokens, how probable it is, and where the model looked.

    `T` tokens, without the start and the end. `token_log_probabilities` has one number more when `ended`: the end's.
    """

    tokens: Tokens  # (T,)
    log_probability: float  # the sum of the next
    token_log_probabilities: npt.NDArray[np.float64]  # (T + ended,)
    score: float  # what sequences were ranked by: log_probability, normalised for length
    ended: bool  # False: cut off at the greatest length
    attention: Floats | None = None  # (T, L)
    gate: Floats | None = None  # (T,)


def label_confidences(beams: Sequence[Decoded]) -> dict[int, float]:
    """How probable each label is, by the n best label sequences of an image.

    The share of the sequences' probability that is in sequences with the label. It is exact when the beams hold all
    the probability there is; one beam alone can only say 1 (then see `step_confidences`).
    """
    logs = np.array([beam.log_probability for beam in beams])
    if not len(logs) or not np.isfinite(logs.max()):
        return {}
    share = np.exp(logs - logs.max())
    share /= share.sum()
    found: dict[int, float] = {}
    for beam, part in zip(beams, share.tolist(), strict=True):
        for label in dict.fromkeys(beam.tokens.tolist()):
            found[label] = found.get(label, 0.0) + part
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def step_confidences(decoded: Decoded) -> dict[int, float]:
    """How probable each label was at the step that wrote it."""
    return {
        label: float(np.exp(log))
        for label, log in zip(decoded.tokens.tolist(), decoded.token_log_probabilities.tolist(), strict=False)
    }
