"""Greedy decoding: the most probable token, every time."""

from typing import Any

import numpy as np

from seetell.decoding.protocol import Decoder, Rules, State
from seetell.decoding.result import Decoded
from seetell.decoding.stepwise import write


def greedy(decoder: Decoder[State], features: Any, rules: Rules) -> list[Decoded]:
    """One sequence an image, each token the most probable after those before it."""
    return write(decoder, features, rules, lambda allowed, rows: np.argmax(allowed, axis=1).astype(np.int64))
