"""The tagger's graphs: a classifier over all labels, or a decoder that generates label after label."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import Bundle, ClassifierPart, SequencePart, TaggerPart
from seetell.decoding import label_confidences, step_confidences
from seetell.errors import BundleError, ImageError
from seetell.runtime.encoder import Features
from seetell.runtime.graph import Graph
from seetell.runtime.results import Tag, TagResult
from seetell.runtime.sequence import OnnxDecoder, decode, rules

Floats = NDArray[np.float32]


class TagPredictor:
    """Tags image features in the calling thread.

    Args:
        bundle: a verified bundle.
        part: its tagger.
    """

    def __init__(self, bundle: Bundle, part: TaggerPart) -> None:
        self.layout = part.layout
        self._vocabulary = bundle.vocabulary(part.vocabulary)
        self.labels = self._vocabulary.words
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
            self.decoder = OnnxDecoder(bundle, part.sequence, len(self._vocabulary))

    def tags(
        self, features: Floats, threshold: float | None = None, top: int | None = None
    ) -> list[tuple[tuple[Tag, ...], Floats | None]]:
        """The tags of each image and, if the tagger is a classifier, the confidences of all labels.

        Args:
            features: in the tagger's layout.
            threshold: the least confidence, instead of the bundle's own selection.
            top: at most this many tags, the most confident ones.
        """
        if self._classifier is not None:
            return self._classified(features, self._classifier, threshold, top)
        assert self._sequence is not None
        generated = self._generated(features, self._sequence)
        return [(self._tags(each, threshold or 0.0, top), None) for each in generated]

    def _classified(
        self, features: Floats, part: ClassifierPart, threshold: float | None, top: int | None
    ) -> list[tuple[tuple[Tag, ...], Floats | None]]:
        found = self._graph({"features": features})
        for values in found.values():
            if values.shape != (len(features), len(self.labels)):
                raise BundleError(
                    f"the model has {values.shape[-1]} labels, its vocabulary {len(self.labels)}",
                    where=self._graph.where,
                    remedy="Export the bundle again",
                )
        tagged: list[tuple[tuple[Tag, ...], Floats | None]] = []
        for logits, confidences in zip(found["logits"], found["probabilities"], strict=True):
            if threshold is not None:
                chosen = np.flatnonzero(confidences >= threshold)
            elif top is not None:
                chosen = np.arange(len(confidences))
            elif part.top:
                chosen = np.argsort(-logits, kind="stable")[: part.top]
            else:
                chosen = np.flatnonzero(logits > self._thresholds)
            by_label = {int(index): float(confidences[index]) for index in chosen}
            tagged.append((self._tags(by_label, 0.0, top), confidences))
        return tagged

    def _generated(self, features: Floats, part: SequencePart) -> list[dict[int, float]]:
        """The labels of each image's best sequence, with confidences computed over all beams."""
        decoding = part.decoding
        distinct = replace(rules(self._vocabulary, decoding), block_ngrams=1)  # no label twice
        first = len(self._vocabulary.specials)
        generated = []
        for beams in decode(self.decoder, features, distinct, decoding, decoding.beam, include_greedy=True):
            confidences = label_confidences(beams) if decoding.beam > 1 else step_confidences(beams[0])
            generated.append({token - first: confidences.get(token, 0.0) for token in beams[0].tokens.tolist()})
        return generated

    def _tags(self, confidences: dict[int, float], threshold: float, top: int | None) -> tuple[Tag, ...]:
        order = sorted(confidences.items(), key=lambda item: -item[1])
        return tuple(Tag(self.labels[index], value) for index, value in order if value >= threshold)[:top]


@dataclass(frozen=True)
class TagHead:
    """Tags the images of a batch."""

    predictor: TagPredictor
    threshold: float | None = None
    top: int | None = None
    task: str = "Tagging"

    def results(self, names: Sequence[str], features: Features) -> list[TagResult]:
        tagged = self.predictor.tags(features[self.predictor.layout], self.threshold, self.top)
        return [TagResult(name, None, *found) for name, found in zip(names, tagged, strict=True)]

    def failed(self, name: str, error: ImageError) -> TagResult:
        return TagResult(name, error)
