"""The tagger: images to labels with confidences."""

from collections.abc import Iterable, Iterator
from typing import overload

import numpy as np
from numpy.typing import NDArray

from seetell.progress import SILENT, Progress
from seetell.runtime.inputs import ImageLike, ImagesLike
from seetell.runtime.pipeline import Pipeline
from seetell.runtime.results import Tag, TagResult
from seetell.runtime.sequence import OnnxDecoder
from seetell.runtime.tagging import TagHead, TagPredictor


class Tagger:
    """Tags images; made by `open_model(…).tagger`.

    Attributes:
        labels: every label it can assign, in the order of `TagResult.scores`.

    Example:
        >>> import seetell
        >>> tagger = seetell.open_model().tagger
        >>> tagger.labels
        ('red', 'green', 'blue')
        >>> tagger("red.png").labels
        ('red',)
    """

    def __init__(self, pipeline: Pipeline, predictor: TagPredictor) -> None:
        self._pipeline, self._predictor = pipeline, predictor
        self.labels = predictor.labels

    def __repr__(self) -> str:
        return f"Tagger({self._pipeline.bundle.manifest.name!r}, {len(self.labels):,} labels)"

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
        """Tag an image, or an iterable of images in order.

        Args:
            images: a path, the bytes of a file, an open binary file, a Pillow image, an array, or an iterable of these.
            threshold: the least confidence, from 0 to 1, instead of the bundle's own selection.
            top: at most this many tags, the most confident ones.
            progress: reports how many images are done.

        Returns:
            A `TagResult`, or an iterator over one per image. An unreadable image has an `error` and no tags.

        Example:
            >>> import seetell
            >>> tagger = seetell.open_model().tagger
            >>> [len(result.tags) for result in tagger(["red.png", "absent.png"], top=2)]
            [2, 0]
        """
        return self._pipeline.map(images, TagHead(self._predictor, threshold, top), progress)

    @property
    def decoder(self) -> OnnxDecoder:
        """The decoder of a tagger that generates label sequences; a classifier has none."""
        return self._predictor.decoder

    def tags(
        self, features: NDArray[np.float32], threshold: float | None = None, top: int | None = None
    ) -> list[tuple[tuple[Tag, ...], NDArray[np.float32] | None]]:
        """Tag encoded features in the calling thread; see `TagPredictor.tags`."""
        return self._predictor.tags(features, threshold, top)
