"""How a model sees: images decoded, prepared, and encoded once for all heads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import Bundle, BundleError
from seetell.errors import ImageError
from seetell.images import Source, decode
from seetell.runtime.graph import Graph
from seetell.runtime.stream import Named

Features = Mapping[str, NDArray[np.float32]]
Said = TypeVar("Said")
Made = TypeVar("Made")


@dataclass(frozen=True)
class EncodedBatch:
    """A batch: features of the images that could be read, and the errors of those that could not."""

    features: Features
    places: tuple[int, ...]  # of the readable ones, in the batch
    errors: Mapping[int, ImageError]


class ImageEncoder:
    """The encoder of a bundle."""

    def __init__(self, bundle: Bundle) -> None:
        part = bundle.manifest.encoder
        self.preparation = part.preparation
        self.shapes = {layout.name: layout.shape for layout in part.layouts}
        self._graph = Graph(bundle, part.graph, ["pixels"], list(self.shapes))

    def see(self, images: Sequence[Named]) -> EncodedBatch:
        pixels: list[NDArray[np.uint8]] = []
        places: list[int] = []
        errors: dict[int, ImageError] = {}
        for place, (name, image) in enumerate(images):
            try:
                source: Source = image.read() if hasattr(image, "read") else image
                decoded = decode(source, name=name, at_least=self.preparation.resize)
                pixels.append(self.preparation.pixels(decoded, name=name))
                places.append(place)
            except ImageError as error:
                errors[place] = error
        if not places:
            return EncodedBatch({}, (), errors)
        crops = self.preparation.crop_count
        squares = np.concatenate(pixels)
        # One at a time, which stays in the processor's cache: a batch of sixteen takes a third longer an image.
        parts = [self._graph({"pixels": self.preparation.scale(square)}) for square in squares[:, np.newaxis]]
        features = {layout: np.concatenate([part[layout] for part in parts]) for layout in self.shapes}
        if crops > 1:
            features = {k: v.reshape(len(places), crops, *v.shape[1:]).mean(1) for k, v in features.items()}
        for layout, values in features.items():
            if values.shape != (len(places), *self.shapes[layout]):
                raise BundleError(
                    f"the encoder gives {layout} of shape {values.shape[1:]}, not {self.shapes[layout]}",
                    where=self._graph.where,
                    remedy="Export the bundle again",
                )
        return EncodedBatch(features, tuple(places), errors)

    def results(
        self,
        images: Sequence[Named],
        say: Callable[[Features], Sequence[Said]],
        good: Callable[[str, Said], Made],
        bad: Callable[[str, ImageError], Made],
    ) -> list[Made]:
        """What `say` makes of the features, put back among the images that could not be read."""
        seen = self.see(images)
        made: list[Any] = [None] * len(images)
        for place, error in seen.errors.items():
            made[place] = bad(images[place][0], error)
        if seen.places:
            for place, said in zip(seen.places, say(seen.features), strict=True):
                made[place] = good(images[place][0], said)
        return made
