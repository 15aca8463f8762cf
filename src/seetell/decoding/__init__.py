"""Writing sequences with a model that says what may follow: greedily, by beam search, by sampling.

Knows no model: anything with `start`, `step` and `select` will do (see `Decoder`).
"""

from seetell.decoding.beam import beam_search
from seetell.decoding.greedy import greedy
from seetell.decoding.protocol import Attended, Decoder, Rules
from seetell.decoding.result import Decoded, label_confidences, step_confidences
from seetell.decoding.sampling import sample

__all__ = [
    "Attended",
    "Decoded",
    "Decoder",
    "Rules",
    "beam_search",
    "greedy",
    "label_confidences",
    "sample",
    "step_confidences",
]
