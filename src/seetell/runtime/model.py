"""A bundle opened for use: a captioner, a tagger and a retriever, or those of them that it has, on one encoder."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import Bundle, BundleError, Manifest, find_bundle
from seetell.images import Preparation
from seetell.progress import SILENT, Progress
from seetell.runtime.captioner import Captioner
from seetell.runtime.encoder import Features, ImageEncoder
from seetell.runtime.results import Caption, Description, Tag
from seetell.runtime.retriever import Retriever
from seetell.runtime.runner import Runner
from seetell.runtime.stream import ImageLike, ImagesLike, Named
from seetell.runtime.tagger import Tagger

Made = TypeVar("Made")


def open_model(name_or_path: str | os.PathLike[str] | None = None, *, threads: int | None = None) -> "Model":
    """Open a bundle by name or by path, verified; the built-in one if none is named.

    Args:
        threads: how many batches of images are worked on at once; as many as there are cores unless told.
    """
    return Model(Bundle.open(find_bundle(name_or_path)), threads=threads)


class Model:
    """A bundle in use. Graphs are loaded when they are first needed. Threads may share it and all that it gives."""

    def __init__(self, bundle: Bundle, *, threads: int | None = None) -> None:
        self.bundle = bundle
        self._runner = Runner(bundle, threads)
        self._lock = threading.Lock()
        self._made: dict[str, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the threads go; the model cannot be used afterwards."""
        self._runner.close()

    @property
    def manifest(self) -> Manifest:
        return self.bundle.manifest

    @property
    def preparation(self) -> Preparation:
        return self.manifest.encoder.preparation

    @property
    def encoder(self) -> ImageEncoder:
        """The encoder."""
        return self._runner.encoder

    @property
    def threads(self) -> int:
        return self._runner.threads

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of captioner, tagger and retriever there are."""
        return self.manifest.kinds

    @property
    def captioner(self) -> Captioner:
        part = self._part(self.manifest.captioner, "caption images")
        return self._once("captioner", lambda: Captioner(self._runner, part, lambda: self.retriever))

    @property
    def tagger(self) -> Tagger:
        part = self._part(self.manifest.tagger, "tag images")
        return self._once("tagger", lambda: Tagger(self._runner, part))

    @property
    def retriever(self) -> Retriever:
        part = self._part(self.manifest.retriever, "match images with texts")
        return self._once("retriever", lambda: Retriever(self._runner, part))

    @overload
    def describe(self, images: ImageLike, *, progress: Progress = ...) -> Description: ...  # type: ignore[overload-overlap]
    @overload
    def describe(self, images: Iterable[ImageLike], *, progress: Progress = ...) -> Iterator[Description]: ...

    def describe(self, images: ImagesLike, *, progress: Progress = SILENT) -> Description | Iterator[Description]:
        """All that the heads have to say, each image being encoded once."""
        work = partial(
            _describe,
            self.encoder,
            self.captioner if self.manifest.captioner else None,
            self.tagger if self.manifest.tagger else None,
            self.retriever if self.manifest.retriever else None,
        )
        result: Description | Iterator[Description] = self._runner.run(images, work, "Describing", progress)
        return result

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
            made: Made = self._made[name]  # type: ignore[assignment]
            return made

    def _part(self, part: Made | None, what: str) -> Made:
        if part is None:
            raise BundleError(
                f"this bundle cannot {what}: it has a {' and a '.join(self.kinds)} only",
                where=str(self.bundle.path),
                remedy="Name another with --model; `seetell models` lists what each can do",
            )
        return part


def _describe(
    encoder: ImageEncoder,
    captioner: Captioner | None,
    tagger: Tagger | None,
    retriever: Retriever | None,
    images: Sequence[Named],
) -> list[Description]:
    def say(features: Features) -> list[tuple[tuple[Caption, ...], tuple[Tag, ...], NDArray[np.float32] | None]]:
        rows = len(next(iter(features.values())))
        vectors = retriever.embed_features(features[retriever.layout]) if retriever else None
        captions = captioner.captions(features, embeddings=vectors) if captioner else [()] * rows
        tags = [tags for tags, _ in tagger.tags(features[tagger.layout])] if tagger else [()] * rows
        return list(zip(captions, tags, [None] * rows if vectors is None else vectors, strict=True))

    return encoder.results(
        images, say, lambda name, said: Description(name, None, *said), lambda name, error: Description(name, error)
    )
