"""ImagesLike and texts in one space."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import BundleError, RetrieverPart
from seetell.progress import SILENT, Progress
from seetell.runtime.graph import Graph
from seetell.runtime.results import Embedding, Match
from seetell.runtime.runner import Runner
from seetell.runtime.stream import ImageLike, ImagesLike, Named
from seetell.similarity import by_name
from seetell.text import UNKNOWN
from seetell.text import by_name as tokenizer_by_name

Floats = NDArray[np.float32]

MOST_WORDS = 512  # of a text that is embedded; what comes after is not read
_TEXTS = 64  # embedded at a time


class Retriever:
    """Puts images and texts in one space, where those that fit each other lie close; made by
    `open_model(…).retriever`. `similarity` says how embeddings are compared.
    """

    def __init__(self, runner: Runner, part: RetrieverPart) -> None:
        self._runner, bundle = runner, runner.bundle
        self.layout, self.dimensions = part.layout, part.dimensions
        self.similarity = by_name(part.similarity)
        self.vocabulary = bundle.vocabulary(part.vocabulary)
        self.tokenizer = tokenizer_by_name(part.tokenizer, self.vocabulary)
        self._images = Graph(bundle, part.images, ["features"], ["embeddings"])
        self._texts = Graph(bundle, part.texts, ["tokens", "lengths"], ["embeddings"])

    @overload
    def images(self, images: ImageLike, *, progress: Progress = ...) -> Embedding: ...  # type: ignore[overload-overlap]
    @overload
    def images(self, images: Iterable[ImageLike], *, progress: Progress = ...) -> Iterator[Embedding]: ...

    def images(self, images: ImagesLike, *, progress: Progress = SILENT) -> Embedding | Iterator[Embedding]:
        """Embed an image, or a stream of them in order."""
        result: Embedding | Iterator[Embedding] = self._runner.run(images, self._results, "Encoding", progress)
        return result

    def embed_features(self, features: Floats) -> Floats:
        """The embeddings of images whose features are there already, in the calling thread."""
        return self._embeddings(self._images, {"features": features}, len(features))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """The embeddings of texts: (texts, dimensions)."""
        numbers = [self._numbers(text) for text in texts]
        # By length, so that little is spent on padding.
        order = sorted(range(len(texts)), key=lambda place: len(numbers[place]))
        embeddings = np.empty((len(texts), self.dimensions), np.float32)
        for begin in range(0, len(order), _TEXTS):
            some = order[begin : begin + _TEXTS]
            lengths = np.array([len(numbers[place]) for place in some], dtype=np.int64)
            tokens = np.zeros((len(some), lengths.max()), dtype=np.int64)
            for row, place in enumerate(some):
                tokens[row, : lengths[row]] = numbers[place]
            embeddings[some] = self._embeddings(self._texts, {"tokens": tokens, "lengths": lengths}, len(some))
        return embeddings

    def unknown(self, text: str) -> list[str]:
        """The words of a text that the model does not know, and therefore does not heed; each once."""
        return list(dict.fromkeys(token for token in self.tokenizer(text) if token not in self.vocabulary))

    def match(self, image: ImageLike, texts: Sequence[str]) -> list[Match]:
        """How well texts fit an image, best first; raises the image's error, if it has one."""
        vector = self.images(image).vector
        scores = self.similarity.scores(vector[np.newaxis], self.embed_texts(texts))[0] if texts else np.zeros(0)
        order = np.argsort(-scores, kind="stable")
        return [Match(texts[place], float(scores[place])) for place in order.tolist()]

    def _results(self, images: Sequence[Named]) -> list[Embedding]:
        return self._runner.encoder.results(
            images,
            lambda features: list(self.embed_features(features[self.layout])),
            lambda name, vector: Embedding(name, embedding=vector),
            lambda name, error: Embedding(name, error),
        )

    def _numbers(self, text: str) -> list[int]:
        return self.vocabulary.encode(self.tokenizer(text)[:MOST_WORDS] or [UNKNOWN])

    def _embeddings(self, graph: Graph, given: dict[str, NDArray[np.generic]], rows: int) -> Floats:
        found = graph(given)["embeddings"]
        if found.shape != (rows, self.dimensions):
            raise BundleError(
                f"the embeddings have shape {found.shape}, not {(rows, self.dimensions)}",
                where=graph.where,
                remedy="Export the bundle again",
            )
        return found
