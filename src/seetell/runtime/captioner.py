"""The captioner: images to captions."""

from collections.abc import Iterable, Iterator
from typing import overload

import msgspec

from seetell.progress import SILENT, Progress
from seetell.runtime.captioning import CaptionGenerator, CaptionHead
from seetell.runtime.inputs import ImageLike, ImagesLike
from seetell.runtime.pipeline import Pipeline
from seetell.runtime.results import CaptionResult


class Captioner:
    """Captions images; made by `open_model(…).captioner`.

    Attributes:
        decoding: the bundle's decoding settings.
        rerank_weight: the weight of the image–text similarity in the bundle; None if captions are not re-ranked.
        uncertain_below: captions with a lower similarity are marked as uncertain; None if none is.
        retry_below: images whose caption has a lower similarity are captioned again; None if none is.
        vocabulary: the words it can use.

    Example:
        >>> import seetell
        >>> captioner = seetell.open_model().captioner
        >>> captioner("red.png").text
        'a red thing'
        >>> [result.text for result in captioner(["red.png", "blue.png"])]
        ['a red thing', 'a blue thing']
    """

    def __init__(self, pipeline: Pipeline, generator: CaptionGenerator) -> None:
        self._pipeline, self._generator = pipeline, generator
        self.decoding, self.rerank_weight = generator.decoding, generator.rerank_weight
        self.uncertain_below, self.retry_below = generator.uncertain_below, generator.retry_below
        self.vocabulary, self.decoder = generator.vocabulary, generator.decoder

    def __repr__(self) -> str:
        return f"Captioner({self._pipeline.bundle.manifest.name!r}, {len(self.vocabulary):,} words)"

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self,
        images: ImageLike,
        *,
        n_best: int = ...,
        beam: int | None = ...,
        alpha: float | None = ...,
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
        alpha: float | None = ...,
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
        alpha: float | None = None,
        maximum_length: int | None = None,
        rerank_weight: float | None = None,
        progress: Progress = SILENT,
    ) -> CaptionResult | Iterator[CaptionResult]:
        """Caption an image, or an iterable of images in order.

        Settings that are not given are the bundle's.

        Args:
            images: a path, the bytes of a file, an open binary file, a Pillow image, an array, or an iterable of these.
            n_best: how many captions per image.
            beam: the width of the beam search; 1 decodes greedily.
            alpha: the length exponent of the beam search; 0 favours short captions.
            maximum_length: the most words of a caption.
            rerank_weight: the weight of the image–text similarity in the score; 0 turns re-ranking off.
            progress: reports how many images are done.

        Returns:
            A `CaptionResult`, or an iterator over one per image. An unreadable image has an `error` and no captions.

        Example:
            >>> import io, pathlib, seetell
            >>> captioner = seetell.open_model().captioner
            >>> captioner(io.BytesIO(pathlib.Path("green.png").read_bytes()), beam=5, n_best=2).captions[0].text
            'a green thing'
        """
        given = {"beam": beam, "alpha": alpha, "maximum_length": maximum_length}
        given = {name: value for name, value in given.items() if value is not None}
        if n_best < 1 or (beam is not None and beam < 1) or (maximum_length is not None and maximum_length < 1):
            raise ValueError("n_best, beam and maximum_length must be at least 1")
        shortest = min(self.decoding.minimum_length, maximum_length or self.decoding.maximum_length)
        decoding = msgspec.structs.replace(self.decoding, **given, minimum_length=shortest)
        return self._pipeline.map(images, CaptionHead(self._generator, decoding, n_best, rerank_weight), progress)
