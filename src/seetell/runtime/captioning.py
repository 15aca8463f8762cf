"""The captioner's graphs: decoding, re-ranking by image–text similarity, retries with words that match the image."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import Bundle, CaptionerPart, Decoding
from seetell.decoding import Decoded, beam_search
from seetell.errors import BundleError, ImageError
from seetell.runtime.embedding import Embedder
from seetell.runtime.encoder import Features
from seetell.runtime.graph import Graph
from seetell.runtime.results import Caption, CaptionResult
from seetell.runtime.sequence import OnnxDecoder, decode, rules
from seetell.text import detokenise

Floats = NDArray[np.float32]


class CaptionGenerator:
    """Captions image features in the calling thread.

    Args:
        bundle: a verified bundle.
        part: its captioner.
        embedder: loads the bundle's retriever when captions are to be re-ranked.
    """

    def __init__(self, bundle: Bundle, part: CaptionerPart, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder
        self.layout, self.decoding, self.rerank_weight = part.layout, part.sequence.decoding, part.rerank_weight
        self.uncertain_below = part.uncertain_below
        self.retry_below = part.retry.below if part.retry else None
        self.vocabulary = bundle.vocabulary(part.vocabulary)
        self.decoder = OnnxDecoder(bundle, part.sequence, len(self.vocabulary))
        self._words = Graph(bundle, part.retry.words, ["embeddings"], ["tokens"]) if part.retry else None

    def captions(
        self,
        features: Features,
        decoding: Decoding | None = None,
        n_best: int = 1,
        rerank_weight: float | None = None,
        embeddings: Floats | None = None,
    ) -> list[tuple[Caption, ...]]:
        """The captions of each image, best first.

        Images whose best caption has a low similarity are captioned again with words that match the image, if the
        bundle can do that; the best of all captions comes first.

        Args:
            features: the encoder's output.
            decoding: how to decode; the bundle's settings by default.
            n_best: how many captions per image.
            rerank_weight: the weight of the similarity; the bundle's by default, 0 for none.
            embeddings: of the images, if the retriever has already computed them.
        """
        decoding = decoding or self.decoding
        weight = (self.rerank_weight if rerank_weight is None else rerank_weight) or 0.0
        candidates = max(n_best, decoding.beam) if weight else n_best
        found = decode(self.decoder, features[self.layout], rules(self.vocabulary, decoding), decoding, candidates)
        captions = [tuple(map(self._caption, best)) for best in found]
        if not weight or candidates == 1:
            return captions
        if embeddings is None:
            embeddings = self._embedder().embed_features(features[self._embedder().layout])
        captions = list(self._reranked(captions, embeddings, weight))
        low = [index for index, best in enumerate(captions) if self._is_low(best[0])]
        if low:
            more = self._retried(features[self.layout][low], embeddings[low], decoding)
            for index, others in zip(low, self._reranked(more, embeddings[low], weight), strict=True):
                distinct = {caption.words: caption for caption in (*others, *captions[index])}
                captions[index] = tuple(sorted(distinct.values(), key=lambda caption: -caption.score))
        return [best[:n_best] for best in captions]

    def _is_low(self, caption: Caption) -> bool:
        return self.retry_below is not None and caption.similarity is not None and caption.similarity < self.retry_below

    def _reranked(
        self, captions: Sequence[tuple[Caption, ...]], embeddings: Floats, weight: float
    ) -> Iterator[tuple[Caption, ...]]:
        """Each image's captions ordered by score + weight · similarity."""
        embedder = self._embedder()
        below = -np.inf if self.uncertain_below is None else self.uncertain_below
        texts = embedder.embed_texts([caption.text for each in captions for caption in each])
        begin = 0
        for each, embedding in zip(captions, embeddings, strict=True):
            similarities = embedder.similarity.scores(embedding[np.newaxis], texts[begin : begin + len(each)])[0]
            begin += len(each)
            scored = (
                replace(caption, score=caption.score + weight * value, similarity=value, uncertain=value < below)
                for caption, value in zip(each, similarities.tolist(), strict=True)
            )
            yield tuple(sorted(scored, key=lambda caption: -caption.score))

    def _retried(self, features: Floats, embeddings: Floats, decoding: Decoding) -> list[tuple[Caption, ...]]:
        """Captions that each contain one of the words that match their image best."""
        assert self._words is not None
        words = self._words({"embeddings": embeddings})["tokens"]
        shaped = words.ndim == 2 and len(words) == len(features) and words.dtype == np.int64
        if not shaped or ((words < 0) | (words >= len(self.vocabulary))).any():
            raise BundleError(
                "the words for retries are not in the vocabulary",
                where=self._words.where,
                remedy="Export the bundle again",
            )
        found = beam_search(
            self.decoder,
            features,
            rules(self.vocabulary, decoding),
            beam=max(2, decoding.beam // 2),
            alpha=decoding.alpha,
            n_best=2,
            required=words,
        )
        each = words.shape[1]
        return [
            tuple(self._caption(decoded) for best in found[begin : begin + each] for decoded in best)
            for begin in range(0, len(found), each)
        ]

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


@dataclass(frozen=True)
class CaptionHead:
    """Captions the images of a batch."""

    generator: CaptionGenerator
    decoding: Decoding
    n_best: int = 1
    rerank_weight: float | None = None
    task: str = "Captioning"

    def results(self, names: Sequence[str], features: Features) -> list[CaptionResult]:
        captions = self.generator.captions(features, self.decoding, self.n_best, self.rerank_weight)
        return [CaptionResult(name, captions=best) for name, best in zip(names, captions, strict=True)]

    def failed(self, name: str, error: ImageError) -> CaptionResult:
        return CaptionResult(name, error)
