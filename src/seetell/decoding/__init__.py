"""Generating sequences with a model of the next token: greedy decoding, beam search, sampling.

Independent of any model or library: anything with `start`, `step` and `select` is a `Decoder`.
"""

from seetell.decoding.beam import beam_search
from seetell.decoding.chain import MarkovChain
from seetell.decoding.greedy import greedy
from seetell.decoding.protocol import Attended, Decoder, Rules
from seetell.decoding.result import Decoded, label_confidences, step_confidences
from seetell.decoding.sampling import sample

__all__ = [
    "Attended",
    "Decoded",
    "Decoder",
    "MarkovChain",
    "Rules",
    "beam_search",
    "greedy",
    "label_confidences",
    "sample",
    "step_confidences",
]
