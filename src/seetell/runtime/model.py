"""A bundle opened for use: a captioner, a tagger and a retriever, or those of them that it has, on one encoder."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar, overload

from seetell.bundle import Bundle, Manifest, find_bundle
from seetell.errors import BundleError
from seetell.images import Preparation
from seetell.progress import SILENT, Progress
from seetell.runtime.captioner import Captioner
from seetell.runtime.captioning import CaptionGenerator
from seetell.runtime.describing import DescriptionHead
from seetell.runtime.embedding import Embedder
from seetell.runtime.encoder import ImageEncoder
from seetell.runtime.inputs import ImageLike, ImagesLike
from seetell.runtime.pipeline import Pipeline
from seetell.runtime.results import Description
from seetell.runtime.retriever import Retriever
from seetell.runtime.tagger import Tagger
from seetell.runtime.tagging import TagPredictor

Loaded = TypeVar("Loaded")


def open_model(name_or_path: str | os.PathLike[str] | None = "builtin", *, threads: int | None = None) -> "Model":
    """Open a model by name or by path; every file is verified first.

    Args:
        name_or_path: "builtin", the name of an installed model (`seetell models` lists them), or a bundle's folder.
        threads: how many batches of images are processed at once; by default one per usable core.

    Raises:
        BundleError: there is no such model, or its bundle is damaged or of another format version.

    Example:
        >>> import seetell
        >>> with seetell.open_model() as model:
        ...     print(model.captioner("red.png").text)
        a red thing
    """
    return Model(Bundle.open(find_bundle(name_or_path)), threads=threads)


class Model:
    """An open model. Graphs are loaded when they are first needed; threads may share it and everything it returns.

    Args:
        bundle: a verified bundle.
        threads: how many batches of images are processed at once; by default one per usable core.

    Example:
        >>> import seetell
        >>> model = seetell.open_model()
        >>> model.kinds
        ('captioner', 'tagger', 'retriever')
        >>> model.tagger("blue.png").labels
        ('blue',)
        >>> model.close()
    """

    def __init__(self, bundle: Bundle, *, threads: int | None = None) -> None:
        self.bundle = bundle
        self._pipeline = Pipeline(bundle, threads)
        self._lock = threading.RLock()
        self._loaded: dict[type, object] = {}

    def __repr__(self) -> str:
        return f"Model({self.manifest.name!r}, {', '.join(self.kinds)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the threads and unload the graphs; using the model afterwards raises a `ClosedError`."""
        self._pipeline.close()
        with self._lock:
            self._loaded.clear()

    @property
    def manifest(self) -> Manifest:
        """The bundle's manifest: name, licence, training data, scores."""
        return self.bundle.manifest

    @property
    def preparation(self) -> Preparation:
        """How images are resized, cropped and scaled."""
        return self.manifest.encoder.preparation

    @property
    def encoder(self) -> ImageEncoder:
        """The image encoder that all heads share."""
        return self._pipeline.encoder

    @property
    def threads(self) -> int:
        """How many batches are processed at once."""
        return self._pipeline.threads

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of captioner, tagger and retriever the model has."""
        return self.manifest.kinds

    @property
    def captioner(self) -> Captioner:
        """The captioner; raises a `BundleError` if the model has none."""
        return self._load(Captioner, lambda: Captioner(self._pipeline, self._generator()))

    @property
    def tagger(self) -> Tagger:
        """The tagger; raises a `BundleError` if the model has none."""
        return self._load(Tagger, lambda: Tagger(self._pipeline, self._predictor()))

    @property
    def retriever(self) -> Retriever:
        """The retriever; raises a `BundleError` if the model has none."""
        return self._load(Retriever, lambda: Retriever(self._pipeline, self._embedder()))

    @overload
    def describe(self, images: ImageLike, *, progress: Progress = ...) -> Description: ...  # type: ignore[overload-overlap]
    @overload
    def describe(self, images: Iterable[ImageLike], *, progress: Progress = ...) -> Iterator[Description]: ...

    def describe(self, images: ImagesLike, *, progress: Progress = SILENT) -> Description | Iterator[Description]:
        """Caption, tag and embed images with every head the model has, encoding each image once.

        Args:
            images: a path, the bytes of a file, an open binary file, a Pillow image, an array, or an iterable of these.
            progress: reports how many images are done.

        Example:
            >>> import seetell
            >>> description = seetell.open_model().describe("green.png")
            >>> description.text, [tag.label for tag in description.tags], description.embedding.shape
            ('a green thing', ['green'], (5,))
        """
        head = DescriptionHead(
            self._generator() if self.manifest.captioner else None,
            self._predictor() if self.manifest.tagger else None,
            self._embedder() if self.manifest.retriever else None,
        )
        return self._pipeline.map(images, head, progress)

    def _generator(self) -> CaptionGenerator:
        part = self._part(self.manifest.captioner, "caption images")
        return self._load(CaptionGenerator, lambda: CaptionGenerator(self.bundle, part, self._embedder))

    def _predictor(self) -> TagPredictor:
        part = self._part(self.manifest.tagger, "tag images")
        return self._load(TagPredictor, lambda: TagPredictor(self.bundle, part))

    def _embedder(self) -> Embedder:
        part = self._part(self.manifest.retriever, "match images with texts")
        return self._load(Embedder, lambda: Embedder(self.bundle, part))

    def _load(self, kind: type[Loaded], load: Callable[[], Loaded]) -> Loaded:
        """Load something once, however many threads ask for it."""
        self._pipeline.check_open()
        with self._lock:
            if kind not in self._loaded:
                self._loaded[kind] = load()
            loaded: Loaded = self._loaded[kind]  # type: ignore[assignment]
            return loaded

    def _part(self, part: Loaded | None, what: str) -> Loaded:
        if part is None:
            raise BundleError(
                f"this model cannot {what}: it has only a {' and a '.join(self.kinds)}",
                where=str(self.bundle.path),
                remedy="Choose another with --model; `seetell models` lists what each can do",
            )
        return part
