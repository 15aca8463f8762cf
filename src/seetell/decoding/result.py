"""What decoding returns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seetell.decoding.protocol import Floats, Tokens


@dataclass(frozen=True, slots=True)
class Decoded:
    """A sequence of T tokens, without the start and the end.

    Args:
        tokens: (T,).
        log_probability: the sum of `token_log_probabilities`.
        token_log_probabilities: of each token, and of the end if the sequence has `ended`, (T + ended,).
        score: what sequences are ranked by: the log-probability, normalised for length.
        ended: False if the sequence was cut off at the maximum length.
        attention: the weights with which each token was chosen, (T, L).
        gate: of each token, (T,).

    Example:
        >>> Decoded(np.array([4, 7]), -1.5, np.array([-0.5, -0.75, -0.25]), -1.5, ended=True).tokens
        array([4, 7])
    """

    tokens: Tokens
    log_probability: float
    token_log_probabilities: npt.NDArray[np.float64]
    score: float
    ended: bool
    attention: Floats | None = None
    gate: Floats | None = None


def label_confidences(beams: Sequence[Decoded]) -> dict[int, float]:
    """The probability of each label, estimated from the n best label sequences of an image.

    It is the share of the sequences' probability that belongs to sequences with the label: exact if the beams hold all
    the probability there is. A single beam always gives 1; use `step_confidences` instead.

    Args:
        beams: the sequences of one image.

    Example:
        >>> log = np.log([0.6, 0.2])
        >>> beams = [Decoded(np.array(tokens), value, np.array([value]), value, True)
        ...          for tokens, value in zip([[1, 2], [2]], log)]
        >>> {label: round(value, 2) for label, value in label_confidences(beams).items()}
        {2: 1.0, 1: 0.75}
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
    """The probability of each label at the step that generated it.

    Args:
        decoded: a label sequence.

    Example:
        >>> step_confidences(Decoded(np.array([3]), 0.0, np.log([0.5, 1.0]), 0.0, True))
        {3: 0.5}
    """
    return {
        label: float(np.exp(log))
        for label, log in zip(decoded.tokens.tolist(), decoded.token_log_probabilities.tolist(), strict=False)
    }
