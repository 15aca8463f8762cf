"""Tags: by a classifier, or label by label."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import BundleError, SequencePart, TaggerPart
from seetell.decoding import label_confidences, step_confidences
from seetell.progress import SILENT, Progress
from seetell.runtime.graph import Graph
from seetell.runtime.results import Tag, TagResult
from seetell.runtime.runner import Runner
from seetell.runtime.sequence import OnnxDecoder, decode, rules
from seetell.runtime.stream import ImageLike, ImagesLike, Named

Floats = NDArray[np.float32]


class Tagger:
    """Names what is in images; made by `open_model(…).tagger`.

    `labels` are all that it can give, in the order of `TagResult.scores`.
    """

    def __init__(self, runner: Runner, part: TaggerPart) -> None:
        self._runner, bundle = runner, runner.bundle
        self.layout = part.layout
        vocabulary = self._vocabulary = bundle.vocabulary(part.vocabulary)
        self.labels = vocabulary.words
        self._classifier, self._sequence = part.classifier, part.sequence
        if part.classifier is not None:
            if len(part.classifier.thresholds) != len(self.labels):
                raise BundleError(
                    f"there are {len(self.labels)} labels, but {len(part.classifier.thresholds)} thresholds",
                    where=str(bundle.path),
                    remedy="Export the bundle again",
                )
            self._graph = Graph(bundle, part.classifier.graph, ["features"], ["logits", "probabilities"])
            self._thresholds = np.array(part.classifier.thresholds, dtype=np.float32)
        elif part.sequence is not None:
            self.decoder = OnnxDecoder(bundle, part.sequence, len(vocabulary))

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, images: ImageLike, *, threshold: float | None = ..., top: int | None = ..., progress: Progress = ...
    ) -> TagResult: ...
    @overload
    def __call__(
        self,
        images: Iterable[ImageLike],
        *,
        threshold: float | None = ...,
        top: int | None = ...,
        progress: Progress = ...,
    ) -> Iterator[TagResult]: ...

    def __call__(
        self,
        images: ImagesLike,
        *,
        threshold: float | None = None,
        top: int | None = None,
        progress: Progress = SILENT,
    ) -> TagResult | Iterator[TagResult]:
        """Tag an image, or a stream of them in order.

        Args:
            images: a path, the bytes of a file, a Pillow image, an array, or an iterable of any of these.
            threshold: only labels that the model is so sure of, instead of the bundle's own choice.
            top: at most so many, the surest.
        """
        work = partial(self._results, threshold, top)
        result: TagResult | Iterator[TagResult] = self._runner.run(images, work, "Tagging", progress)
        return result

    def tags(
        self, features: Floats, threshold: float | None = None, top: int | None = None
    ) -> list[tuple[tuple[Tag, ...], Floats | None]]:
        """Of each image its tags and, of a classifier, the scores of all labels."""
        if self._sequence is not None:
            return [(self._chosen(each, threshold or 0.0, top), None) for each in self._told(features, self._sequence)]
        found = self._graph({"features": features})
        for values in found.values():
            if values.shape != (len(features), len(self.labels)):
                raise BundleError(
                    f"the model knows {values.shape[-1]} labels, its list {len(self.labels)}",
                    where=self._graph.where,
                    remedy="Export the bundle again",
                )
        rows = zip(found["logits"], found["probabilities"], strict=True)
        return [(self._classified(logits, sure, threshold, top), sure) for logits, sure in rows]

    def _classified(self, logits: Floats, sure: Floats, threshold: float | None, top: int | None) -> tuple[Tag, ...]:
        assert self._classifier is not None
        if threshold is not None:
            chosen = np.flatnonzero(sure >= threshold)
        elif top is not None:
            chosen = np.arange(len(sure))
        elif self._classifier.top:
            chosen = np.argsort(-logits, kind="stable")[: self._classifier.top]
        else:
            chosen = np.flatnonzero(logits > self._thresholds)
        return self._chosen({int(place): float(sure[place]) for place in chosen}, 0.0, top)

    def _told(self, features: Floats, part: SequencePart) -> list[dict[int, float]]:
        """The labels of each image's best sequence; how sure the model is of each, the beams together say."""
        how = part.decoding
        law = replace(rules(self._vocabulary, how), block_ngrams=1)  # no label twice
        found = []
        for beams in decode(self.decoder, features, law, how, how.beam, include_greedy=True):
            sure = label_confidences(beams) if how.beam > 1 else step_confidences(beams[0])
            first = len(self._vocabulary.specials)
            found.append({token - first: sure.get(token, 0.0) for token in beams[0].tokens.tolist()})
        return found

    def _chosen(self, confidences: dict[int, float], threshold: float, top: int | None) -> tuple[Tag, ...]:
        order = sorted(confidences.items(), key=lambda item: -item[1])
        return tuple(Tag(self.labels[place], sure) for place, sure in order if sure >= threshold)[:top]

    def _results(self, threshold: float | None, top: int | None, images: Sequence[Named]) -> list[TagResult]:
        return self._runner.encoder.results(
            images,
            lambda features: self.tags(features[self.layout], threshold, top),
            lambda name, said: TagResult(name, None, *said),
            lambda name, error: TagResult(name, error),
        )
