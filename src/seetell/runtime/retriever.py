"""The retriever: images and texts in one embedding space."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from seetell.progress import SILENT, Progress
from seetell.runtime.embedding import Embedder, EmbeddingHead
from seetell.runtime.inputs import ImageLike, ImagesLike
from seetell.runtime.pipeline import Pipeline
from seetell.runtime.results import Embedding, Match


class Retriever:
    """Embeds images and texts in one space, where those that match are close; made by `open_model(…).retriever`.

    Attributes:
        similarity: compares embeddings; see `seetell.similarity`.
        dimensions: the length of an embedding.

    Example:
        >>> import seetell
        >>> retriever = seetell.open_model().retriever
        >>> images = retriever.images(["red.png", "blue.png"])
        >>> texts = retriever.texts(["a red thing", "something blue"])
        >>> retriever.similarity.scores(images, texts).argmax(axis=1)
        array([0, 1])
    """

    def __init__(self, pipeline: Pipeline, embedder: Embedder) -> None:
        self._pipeline, self._embedder = pipeline, embedder
        self.layout, self.dimensions, self.similarity = embedder.layout, embedder.dimensions, embedder.similarity
        self.vocabulary, self.tokenizer = embedder.vocabulary, embedder.tokenizer

    def __repr__(self) -> str:
        return (
            f"Retriever({self._pipeline.bundle.manifest.name!r}, {self.similarity.name}, {self.dimensions} dimensions)"
        )

    @overload
    def images(self, images: ImageLike, *, progress: Progress = ...) -> Embedding: ...  # type: ignore[overload-overlap]
    @overload
    def images(self, images: Iterable[ImageLike], *, progress: Progress = ...) -> Iterator[Embedding]: ...

    def images(self, images: ImagesLike, *, progress: Progress = SILENT) -> Embedding | Iterator[Embedding]:
        """Embed an image, or an iterable of images in order.

        Args:
            images: a path, the bytes of a file, an open binary file, a Pillow image, an array, or an iterable of these.
            progress: reports how many images are done.

        Returns:
            An `Embedding`, or an iterator over one per image. The embedding of an unreadable image has an `error`.

        Example:
            >>> import seetell
            >>> seetell.open_model().retriever.images("red.png").vector.shape
            (5,)
        """
        return self._pipeline.map(images, EmbeddingHead(self._embedder), progress)

    def texts(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed a list of texts.

        Args:
            texts: sentences or words; a bare string is refused.

        Example:
            >>> import seetell
            >>> seetell.open_model().retriever.texts(["red", "a green thing"])
            [Embedding('red', 5 dimensions), Embedding('a green thing', 5 dimensions)]
        """
        vectors = self.embed_texts(texts)
        return [Embedding(text, embedding=vector) for text, vector in zip(texts, vectors, strict=True)]

    def match(self, image: ImageLike, texts: Sequence[str]) -> list[Match]:
        """Rank texts by how well they match an image, best first.

        Args:
            image: a single image; if it cannot be read, its `ImageError` is raised.
            texts: sentences or words; a bare string is refused.

        Example:
            >>> import seetell
            >>> seetell.open_model().retriever.match("blue.png", ["red", "blue"])[0].text
            'blue'
        """
        vectors = self.embed_texts(texts)
        scores = self.similarity.scores(self.images(image), vectors)[0] if len(vectors) else np.zeros(0)
        order = np.argsort(-scores, kind="stable")
        return [Match(texts[index], float(scores[index])) for index in order.tolist()]

    def unknown(self, text: str) -> list[str]:
        """The words of a text that the model does not know and therefore ignores; each once.

        Example:
            >>> import seetell
            >>> seetell.open_model().retriever.unknown("a red zebra")
            ['zebra']
        """
        return self._embedder.unknown(text)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed a list of texts as one array (texts, dimensions)."""
        self._pipeline.check_open()
        return self._embedder.embed_texts(texts)

    def embed_features(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Embed encoded features as one array (images, dimensions), in the calling thread."""
        return self._embedder.embed_features(features)
