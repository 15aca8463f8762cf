"""Captions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import BundleError, CaptionerPart, Decoding
from seetell.decoding import Decoded, beam_search
from seetell.progress import SILENT, Progress
from seetell.runtime.encoder import Features
from seetell.runtime.graph import Graph
from seetell.runtime.results import Caption, CaptionResult
from seetell.runtime.retriever import Retriever
from seetell.runtime.runner import Runner
from seetell.runtime.sequence import OnnxDecoder, decode, rules
from seetell.runtime.stream import ImageLike, ImagesLike, Named
from seetell.text import detokenise


class Captioner:
    """Tells images in words; made by `open_model(…).captioner`.

    Example:
        >>> captioner = open_model("mine").captioner
        >>> captioner("dog.jpg").text
        'a dog runs on the beach'
    """

    def __init__(self, runner: Runner, part: CaptionerPart, retriever: Callable[[], Retriever]) -> None:
        self._runner, self._retriever = runner, retriever
        self.layout, self.decoding, self.rerank_weight = part.layout, part.sequence.decoding, part.rerank_weight or 0.0
        self.uncertain_below = -np.inf if part.uncertain_below is None else part.uncertain_below
        self.vocabulary = runner.bundle.vocabulary(part.vocabulary)
        self.decoder = OnnxDecoder(runner.bundle, part.sequence, len(self.vocabulary))
        self.retry_below = -np.inf if part.retry is None else part.retry.below
        self._words = Graph(runner.bundle, part.retry.words, ["embeddings"], ["tokens"]) if part.retry else None

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self,
        images: ImageLike,
        *,
        n_best: int = ...,
        beam: int | None = ...,
        maximum_length: int | None = ...,
        rerank_weight: float | None = ...,
        progress: Progress = ...,
    ) -> CaptionResult: ...
    @overload
    def __call__(
        self,
        images: Iterable[ImageLike],
        *,
        n_best: int = ...,
        beam: int | None = ...,
        maximum_length: int | None = ...,
        rerank_weight: float | None = ...,
        progress: Progress = ...,
    ) -> Iterator[CaptionResult]: ...

    def __call__(
        self,
        images: ImagesLike,
        *,
        n_best: int = 1,
        beam: int | None = None,
        maximum_length: int | None = None,
        rerank_weight: float | None = None,
        progress: Progress = SILENT,
    ) -> CaptionResult | Iterator[CaptionResult]:
        """Caption an image, or a stream of them in order.

        Args:
            images: a path, the bytes of a file, a Pillow image, an array, or an iterable of any of these.
            n_best: how many captions of each.
            beam: how many are searched at once,
            maximum_length: the most words, and
            rerank_weight: how much it counts that the bundle's retriever finds a caption to fit; as the bundle says unless
                told.
        """
        how = self.decoding
        how = replace(how, beam=beam or how.beam, maximum_length=maximum_length or how.maximum_length)
        how = replace(how, minimum_length=min(how.minimum_length, how.maximum_length))
        if n_best < 1 or how.beam < 1 or how.maximum_length < 1:
            raise ValueError("n_best, beam and maximum_length count from 1")
        result: CaptionResult | Iterator[CaptionResult] = self._runner.run(
            images, partial(self._results, how, n_best, rerank_weight), "Captioning", progress
        )
        return result

    def captions(
        self,
        features: Features,
        how: Decoding | None = None,
        n_best: int = 1,
        rerank_weight: float | None = None,
        embeddings: NDArray[np.float32] | None = None,
    ) -> list[tuple[Caption, ...]]:
        """The captions of images whose features are there already, in the calling thread; `embeddings` are the
        retriever's of the images, if they are there, too. Those that fit badly are told again with words that fit
        the image, if the bundle can, and the best of all is told.
        """
        how, rerank_weight = how or self.decoding, self.rerank_weight if rerank_weight is None else rerank_weight
        candidates = max(n_best, how.beam) if rerank_weight else n_best
        found = decode(self.decoder, features[self.layout], rules(self.vocabulary, how), how, candidates)
        captions = [tuple(map(self._caption, best)) for best in found]
        if not rerank_weight or candidates == 1:
            return captions
        if embeddings is None:
            embeddings = self._retriever().embed_features(features[self._retriever().layout])
        told = list(self._matched(captions, embeddings, rerank_weight))
        low = [
            place
            for place, best in enumerate(told)
            if best[0].similarity is not None and best[0].similarity < self.retry_below
        ]
        if low:
            more = self._told_again(features[self.layout][low], embeddings[low], how)
            for place, others in zip(low, self._matched(more, embeddings[low], rerank_weight), strict=True):
                known = {caption.words: caption for caption in (*others, *told[place])}
                told[place] = tuple(sorted(known.values(), key=lambda caption: -caption.score))
        return [best[:n_best] for best in told]

    def _told_again(
        self, features: NDArray[np.float32], embeddings: NDArray[np.float32], how: Decoding
    ) -> list[tuple[Caption, ...]]:
        """Captions that contain, each, one of the words that fit an image best."""
        assert self._words is not None
        words = self._words({"embeddings": embeddings})["tokens"]
        shaped = words.ndim == 2 and len(words) == len(features) and words.dtype == np.int64
        if not shaped or ((words < 0) | (words >= len(self.vocabulary))).any():
            raise BundleError(
                "the words that fit an image are none of its vocabulary",
                where=self._words.where,
                remedy="Export the bundle again",
            )
        found = beam_search(
            self.decoder,
            features,
            rules(self.vocabulary, how),
            beam=max(2, how.beam // 2),
            alpha=how.alpha,
            n_best=2,
            required=words,
        )
        each = words.shape[1]
        return [
            tuple(self._caption(decoded) for best in found[begin : begin + each] for decoded in best)
            for begin in range(0, len(found), each)
        ]

    def _matched(
        self, captions: Sequence[tuple[Caption, ...]], embeddings: NDArray[np.float32], rerank_weight: float
    ) -> Iterator[tuple[Caption, ...]]:
        """Captions in a new order: by their score, and by how well they fit their image."""
        retriever = self._retriever()
        texts = retriever.embed_texts([caption.text for each in captions for caption in each])
        begin = 0
        for each, embedding in zip(captions, embeddings, strict=True):
            fits = retriever.similarity.scores(embedding[np.newaxis], texts[begin : begin + len(each)])[0]
            begin += len(each)
            scored = (
                replace(c, score=c.score + rerank_weight * fit, similarity=fit, uncertain=fit < self.uncertain_below)
                for c, fit in zip(each, fits.tolist(), strict=True)
            )
            yield tuple(sorted(scored, key=lambda caption: -caption.score))

    def _results(
        self, how: Decoding, n_best: int, rerank_weight: float | None, images: Sequence[Named]
    ) -> list[CaptionResult]:
        return self._runner.encoder.results(
            images,
            lambda features: self.captions(features, how, n_best, rerank_weight),
            lambda name, captions: CaptionResult(name, captions=captions),
            lambda name, error: CaptionResult(name, error),
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
