"""A bundle's `start` and `step` graphs as a `seetell.decoding.Decoder`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seetell.bundle import Bundle, Decoding, SequencePart
from seetell.decoding import Attended, Decoded, Decoder, Rules, beam_search, greedy
from seetell.decoding.protocol import State
from seetell.errors import BundleError
from seetell.runtime.graph import Graph
from seetell.text import END, PAD, START, UNKNOWN, Vocabulary

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """A decoder state, and the image that each of its rows belongs to."""

    state: dict[str, Array]
    images: npt.NDArray[np.intp]


class OnnxDecoder:
    """Generates sequences with two graphs; holds no state of its own, so threads may share it.

    Args:
        bundle: a verified bundle.
        part: the sequence part of a head.
        words: the size of its vocabulary.
    """

    def __init__(self, bundle: Bundle, part: SequencePart, words: int) -> None:
        names = [state.name for state in part.state]
        self.constant = frozenset(state.name for state in part.state if state.constant)
        self.changing = [name for name in names if name not in self.constant]
        self.attention, self.words = part.attention, words
        outputs = ["log_probs", *(["attention"] if part.attention else [])]
        outputs += [f"next_{name}" for name in self.changing]
        self._start = Graph(bundle, part.start, ["features"], names)
        self._step = Graph(bundle, part.step, ["tokens", *names], outputs)

    def start(self, features: Array) -> Rows:
        return Rows(self._start({"features": features}), np.arange(len(features)))

    def step(self, tokens: Array, state: Rows) -> tuple[Array, Rows, Attended | None]:
        found = self._step({"tokens": tokens, **state.state})
        after = {**state.state, **{name: found[f"next_{name}"] for name in self.changing}}
        log_probs = found["log_probs"]
        if log_probs.shape != (len(tokens), self.words):
            raise BundleError(
                f"the model has {log_probs.shape[-1]} words, its vocabulary {self.words}",
                where=self._step.where,
                remedy="Export the bundle again",
            )
        if not self.attention:
            return log_probs, Rows(after, state.images), None
        gate = after["gate"][:, 0] if "gate" in self.changing else None
        return log_probs, Rows(after, state.images), Attended(found["attention"], gate)

    def select(self, state: Rows, rows: npt.NDArray[np.intp]) -> Rows:
        """The state of the given rows.

        An image's constant tensors, by far the largest part, are not copied as long as the rows belong to the same
        images in the same order, as they do when the beams of an image are reordered.
        """
        images = state.images[rows]
        same = np.array_equal(images, state.images)
        kept = self.constant if same else frozenset()
        return Rows({k: v if k in kept else np.take(v, rows, axis=0) for k, v in state.state.items()}, images)


def decode(
    decoder: Decoder[State],
    features: Array,
    rules: Rules,
    decoding: Decoding,
    n_best: int = 1,
    *,
    include_greedy: bool = False,
) -> list[list[Decoded]]:
    """The best sequences of each image; always at least one.

    Args:
        decoder: generates tokens.
        features: one row per image.
        rules: what a sequence may contain.
        decoding: beam width and length exponent; a beam of 1 decodes greedily.
        n_best: how many sequences per image.
        include_greedy: see `beam_search`.
    """
    if decoding.beam == 1 and n_best == 1:
        return [[each] for each in greedy(decoder, features, rules)]
    found = beam_search(
        decoder,
        features,
        rules,
        beam=max(decoding.beam, n_best),
        alpha=decoding.alpha,
        n_best=n_best,
        include_greedy=include_greedy,
    )
    return [best or [_nothing()] for best in found]


def rules(vocabulary: Vocabulary, decoding: Decoding) -> Rules:
    """The rules of decoding with a vocabulary: padding and unknown words are never generated."""
    return Rules(
        start=vocabulary.special(START),
        end=vocabulary.special(END),
        max_length=decoding.maximum_length,
        min_length=decoding.minimum_length,
        forbidden=tuple(vocabulary.special(each) for each in (PAD, UNKNOWN) if each in vocabulary.specials),
        block_ngrams=decoding.block_ngrams,
    )


def _nothing() -> Decoded:
    return Decoded(np.zeros(0, np.int64), 0.0, np.zeros(0), 0.0, ended=False)
