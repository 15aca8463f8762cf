"""The retriever's graphs: embeddings of image features and of texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import Bundle, RetrieverPart
from seetell.errors import BundleError, ImageError, SeetellError
from seetell.runtime.encoder import Features
from seetell.runtime.graph import Graph
from seetell.runtime.results import Embedding
from seetell.similarity import by_name
from seetell.text import UNKNOWN
from seetell.text import by_name as tokenizer_by_name

Floats = NDArray[np.float32]

MOST_WORDS = 512  # of a text; the rest is ignored
_TEXTS = 64  # embedded at a time


class Embedder:
    """Embeds image features and texts in the calling thread.

    Args:
        bundle: a verified bundle.
        part: its retriever.
    """

    def __init__(self, bundle: Bundle, part: RetrieverPart) -> None:
        self.layout, self.dimensions = part.layout, part.dimensions
        self.similarity = by_name(part.similarity)
        self.vocabulary = bundle.vocabulary(part.vocabulary)
        self.tokenizer = tokenizer_by_name(part.tokenizer, self.vocabulary)
        self._images = Graph(bundle, part.images, ["features"], ["embeddings"])
        self._texts = Graph(bundle, part.texts, ["tokens", "lengths"], ["embeddings"])

    def embed_features(self, features: Floats) -> Floats:
        """Embeddings (N, dimensions) of features in the retriever's layout."""
        return self._embeddings(self._images, {"features": features}, len(features))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Embeddings (texts, dimensions) of texts."""
        if isinstance(texts, str):
            raise SeetellError(
                f"a list of texts is expected, not the text {texts[:60]!r}", remedy="Put it in a list: [text]"
            )
        numbers = [self._numbers(text) for text in texts]
        # By length, so that little is spent on padding.
        order = sorted(range(len(texts)), key=lambda index: len(numbers[index]))
        embeddings = np.empty((len(texts), self.dimensions), np.float32)
        for begin in range(0, len(order), _TEXTS):
            some = order[begin : begin + _TEXTS]
            lengths = np.array([len(numbers[index]) for index in some], dtype=np.int64)
            tokens = np.zeros((len(some), lengths.max()), dtype=np.int64)
            for row, index in enumerate(some):
                tokens[row, : lengths[row]] = numbers[index]
            embeddings[some] = self._embeddings(self._texts, {"tokens": tokens, "lengths": lengths}, len(some))
        return embeddings

    def unknown(self, text: str) -> list[str]:
        """The words of a text that are not in the vocabulary and therefore ignored; each once."""
        return list(dict.fromkeys(token for token in self.tokenizer(text) if token not in self.vocabulary))

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


@dataclass(frozen=True)
class EmbeddingHead:
    """Embeds the images of a batch."""

    embedder: Embedder
    task: str = "Encoding"

    def results(self, names: Sequence[str], features: Features) -> list[Embedding]:
        vectors = self.embedder.embed_features(features[self.embedder.layout])
        return [Embedding(name, embedding=vector) for name, vector in zip(names, vectors, strict=True)]

    def failed(self, name: str, error: ImageError) -> Embedding:
        return Embedding(name, error)
