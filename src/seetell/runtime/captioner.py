"""Captions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import CaptionerPart, Decoding
from seetell.decoding import Decoded
from seetell.progress import SILENT, Progress
from seetell.runtime.results import Caption, Captioned
from seetell.runtime.runner import Runner
from seetell.runtime.sequence import OnnxDecoder, decode, rules
from seetell.runtime.stream import AnyPicture, Named, Pictures
from seetell.text import detokenise


class Captioner:
    """Tells pictures in words; made by `open_bundle(…).captioner`.

    Example:
        >>> captioner = open_bundle("mine").captioner
        >>> captioner("dog.jpg").text
        'a dog runs on the beach'
    """

    def __init__(self, runner: Runner, part: CaptionerPart) -> None:
        self._runner = runner
        self.layout, self.decoding = part.layout, part.sequence.decoding
        self.vocabulary = runner.bundle.vocabulary(part.vocabulary)
        self.decoder = OnnxDecoder(runner.bundle, part.sequence, len(self.vocabulary))

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self,
        pictures: AnyPicture,
        *,
        n_best: int = ...,
        beam: int | None = ...,
        maximum_length: int | None = ...,
        progress: Progress = ...,
    ) -> Captioned: ...
    @overload
    def __call__(
        self,
        pictures: Iterable[AnyPicture],
        *,
        n_best: int = ...,
        beam: int | None = ...,
        maximum_length: int | None = ...,
        progress: Progress = ...,
    ) -> Iterator[Captioned]: ...

    def __call__(
        self,
        pictures: Pictures,
        *,
        n_best: int = 1,
        beam: int | None = None,
        maximum_length: int | None = None,
        progress: Progress = SILENT,
    ) -> Captioned | Iterator[Captioned]:
        """Caption a picture, or a stream of them in order.

        Args:
            pictures: a path, the bytes of a file, a Pillow picture, an array, or an iterable of any of these.
            n_best: how many captions of each.
            beam: how many are searched at once, and
            maximum_length: the most words; as the bundle says unless told.
        """
        how = self.decoding
        how = replace(how, beam=beam or how.beam, maximum_length=maximum_length or how.maximum_length)
        how = replace(how, minimum_length=min(how.minimum_length, how.maximum_length))
        if n_best < 1 or how.beam < 1 or how.maximum_length < 1:
            raise ValueError("n_best, beam and maximum_length count from 1")
        result: Captioned | Iterator[Captioned] = self._runner.run(
            pictures, partial(self._results, how, n_best), "Captioning", progress
        )
        return result

    def captions(
        self, features: NDArray[np.float32], how: Decoding | None = None, n_best: int = 1
    ) -> list[tuple[Caption, ...]]:
        """The captions of pictures whose features are there already, in the calling thread."""
        how = how or self.decoding
        found = decode(self.decoder, features, rules(self.vocabulary, how), how, n_best)
        return [tuple(map(self._caption, best)) for best in found]

    def _results(self, how: Decoding, n_best: int, pictures: Sequence[Named]) -> list[Captioned]:
        return self._runner.eye.results(
            pictures,
            lambda features: self.captions(features[self.layout], how, n_best),
            lambda name, captions: Captioned(name, captions=captions),
            lambda name, error: Captioned(name, error),
        )

    def _caption(self, decoded: Decoded) -> Caption:
        words = tuple(self.vocabulary.word(token) for token in decoded.tokens.tolist())
        return Caption(
            text=detokenise(words),
            words=words,
            word_log_probabilities=decoded.token_log_probabilities,
            attention=None if decoded.attention is None else decoded.attention.astype(np.float32, copy=False),
            gate=None if decoded.gate is None else decoded.gate.astype(np.float32, copy=False),
            log_probability=decoded.log_probability,
            score=decoded.score,
        )
