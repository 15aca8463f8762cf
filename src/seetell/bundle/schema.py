"""The parts of `bundle.json`: the encoder, the heads, their graphs, decoding defaults and scores.

Types and limits are checked by the settings layer when a manifest is read; what spans several fields is checked by each
part's `__post_init__`.
"""

import math
import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from seetell.errors import BundleError
from seetell.images import Preparation
from seetell.settings import Settings
from seetell.similarity import SIMILARITIES
from seetell.text import TOKENIZER_NAMES

EXPORT_AGAIN = "Export it again, or get a new copy of it"

Precision = Literal["float32", "float16", "int8"]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Size = Annotated[int, Meta(ge=1, le=1 << 24)]
Text = Annotated[str, Meta(max_length=10_000)]
Line = Annotated[str, Meta(max_length=1_000)]
ShortLine = Annotated[str, Meta(max_length=100)]
FileName = Annotated[str, Meta(max_length=200)]

LARGEST_FILE = (1 << 31) - 1  # bytes; the limit of an ONNX graph
# Windows opens devices by these names, whatever the suffix.
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}

_FILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}\.(onnx|txt)")
_LAYOUT = re.compile(r"pooled|levels|full_network|grid(:[1-9][0-9]?|\+levels)?")
_STATE = re.compile(r"[a-z][a-z0-9_]{0,39}")
_DEEPEST_METRICS, _MOST_METRICS, _LARGEST_METRIC = 4, 200, 1e15


def invalid(problem: str) -> BundleError:
    """The error for a manifest that is well-formed but makes no sense."""
    return BundleError(problem, remedy=EXPORT_AGAIN)


def is_file_name(name: str) -> bool:
    """Whether a bundle may hold a file of this name: lower case only, so that names never collide on any file system;
    no folders, hidden files, devices or streams."""
    return bool(_FILE.fullmatch(name)) and name.partition(".")[0] not in DEVICES


def _check_file(key: str, name: str, suffix: str) -> None:
    if not is_file_name(name) or not name.endswith(suffix):
        raise invalid(f"{key} is {name[:60]!a}, which is not a valid name for a {suffix} file of a bundle")


class StoredFile(Settings, frozen=True):
    """A file's size in bytes and its SHA-256."""

    size: Annotated[int, Meta(ge=1, le=LARGEST_FILE)]
    sha256: Sha256


class Layout(Settings, frozen=True):
    """A layout of features that the encoder outputs: the shape for one image, and the widths of a row's sections."""

    name: Annotated[str, Meta(max_length=20)]
    shape: tuple[Size, ...]
    sections: tuple[Size, ...]

    def __post_init__(self) -> None:
        if not _LAYOUT.fullmatch(self.name) or len(self.shape) != (2 if self.name.startswith("grid") else 1):
            raise invalid(f"{self.name!a} of shape {self.shape} is not a feature layout")
        own = self.sections[:1] if self.name == "grid+levels" else self.sections  # the others stand below the grid
        if sum(own) != self.shape[-1]:
            raise invalid(f"the sections of {self.name} add up to {sum(own)}, not to its width, {self.shape[-1]}")


class EncoderPart(Settings, frozen=True):
    """The image network: prepared `pixels` (N × 3 × size × size) to features, one output per layout.

    Args:
        fingerprint: identifies the weights it was made from.
    """

    name: Annotated[str, Meta(max_length=500)]
    fingerprint: ShortLine
    graph: FileName
    preparation: Preparation
    layouts: tuple[Layout, ...]

    def __post_init__(self) -> None:
        _check_file("encoder.graph", self.graph, ".onnx")
        names = [layout.name for layout in self.layouts]
        if not names or len(names) != len(set(names)):
            raise invalid("encoder.layouts is empty, or lists a layout twice")
        if self.preparation.crop_count > 1 and any(name.startswith("grid") for name in names):
            raise invalid("encoder.preparation takes ten crops, but a grid cannot be averaged over crops")

    def layout(self, name: str) -> Layout:
        return next(layout for layout in self.layouts if layout.name == name)


class Score(Settings, frozen=True):
    """What was measured, on which data, and by which protocol.

    Args:
        measured_on: the "bundle" itself, or the "checkpoint" it was made from.
        metrics: numbers and text by name; may be nested.
    """

    data: Line
    split: ShortLine
    protocol: Line
    images: Annotated[int, Meta(ge=0, le=1 << 40)]
    measured_on: Literal["bundle", "checkpoint"]
    metrics: dict[str, Any]

    def __post_init__(self) -> None:
        _check_metrics(self.metrics)


def _check_metrics(values: object, name: str = "metrics", depth: int = 0) -> None:
    if isinstance(values, dict):
        if depth > _DEEPEST_METRICS or len(values) > _MOST_METRICS:
            raise invalid(f"{name[:60]!a} is nested too deeply, or has too many entries")
        for key, value in values.items():
            _check_metrics(value, str(key), depth + 1)
        return
    number = isinstance(values, int | float) and not isinstance(values, bool)
    good = abs(values) <= _LARGEST_METRIC if number else isinstance(values, str) and len(values) <= 1_000  # type: ignore[arg-type]
    if depth == 0 or not good or (isinstance(values, float) and not math.isfinite(values)):
        raise invalid(f"the metric {name[:60]!a} is neither a number nor a short text")


class Decoding(Settings, frozen=True):
    """Default decoding settings; see `seetell.decoding`.

    Args:
        alpha: the length exponent of beam search.
        block_ngrams: no n-gram of this many tokens is repeated; 0 allows repetition.
    """

    beam: Annotated[int, Meta(ge=1, le=100)] = 3
    alpha: Annotated[float, Meta(ge=0, le=10)] = 0.0
    maximum_length: Annotated[int, Meta(ge=1, le=100_000)] = 20
    minimum_length: Annotated[int, Meta(ge=0, le=100_000)] = 0
    block_ngrams: Annotated[int, Meta(ge=0, le=100)] = 0

    def __post_init__(self) -> None:
        if self.minimum_length > self.maximum_length:
            raise invalid(f"minimum_length is {self.minimum_length}, above maximum_length, {self.maximum_length}")


class StatePart(Settings, frozen=True):
    """One tensor of a decoder's state: its shape for one row, and whether it is the same at every step."""

    name: Annotated[str, Meta(max_length=40)]
    shape: Annotated[tuple[Size, ...], Meta(max_length=6)]
    constant: bool

    def __post_init__(self) -> None:
        if not _STATE.fullmatch(self.name):
            raise invalid(f"{self.name[:60]!a} is not a valid name for a decoder state")


class SequencePart(Settings, frozen=True):
    """Two graphs that generate words or labels: `start`, from features to a state, and `step`, from token to token.

    `start` takes `features` and outputs every state; `step` takes `tokens` (R,) and every state, and outputs
    `log_probs` (R, V), `attention` (R, L) if it has attention, and `next_NAME` for each state that is not constant.
    """

    start: FileName
    step: FileName
    state: tuple[StatePart, ...]
    attention: bool
    decoding: Decoding

    def __post_init__(self) -> None:
        _check_file("sequence.start", self.start, ".onnx")
        _check_file("sequence.step", self.step, ".onnx")
        names = [state.name for state in self.state]
        if not names or len(names) != len(set(names)):
            raise invalid("sequence.state is empty, or lists a state twice")


class ClassifierPart(Settings, frozen=True):
    """One graph from `features` to `logits` and `probabilities` (N, labels each).

    Args:
        thresholds: a label is output if its logit exceeds its threshold, unless `top` is set.
        top: if not 0, output this many labels, those with the greatest logits.
    """

    graph: FileName
    thresholds: tuple[Annotated[float, Meta(ge=-1e9, le=1e9)], ...]
    top: Annotated[int, Meta(ge=0, le=100_000)]

    def __post_init__(self) -> None:
        _check_file("classifier.graph", self.graph, ".onnx")
        if not self.thresholds:
            raise invalid("classifier.thresholds is empty")


class _Trained(Settings, frozen=True, kw_only=True, omit_defaults=True):
    training_settings: Annotated[str, Meta(max_length=20_000)] = ""


class Head(_Trained, frozen=True):
    """What every head has.

    Args:
        layout: the feature layout it reads.
        vocabulary: the file with its words or labels.
        scores: what was measured.
        training_settings: the settings it was trained with, as JSON, for training it further; nothing else reads them.
    """

    KIND: ClassVar[str]

    layout: Annotated[str, Meta(max_length=20)]
    vocabulary: FileName
    scores: tuple[Score, ...]

    def __post_init__(self) -> None:
        _check_file(f"{self.KIND}.vocabulary", self.vocabulary, ".txt")

    @property
    def files(self) -> list[str]:
        """Every file the head uses."""
        return [self.vocabulary]


class RetryPart(Settings, frozen=True):
    """Images whose caption has a lower similarity than `below` are captioned again, with words that match the image.

    Args:
        words: a graph from the retriever's `embeddings` of images to the best matching `tokens` (P, words).
    """

    words: FileName
    below: Annotated[float, Meta(ge=-1e6, le=1e6)]

    def __post_init__(self) -> None:
        _check_file("retry.words", self.words, ".onnx")


class CaptionerPart(Head, frozen=True):
    """Captions images.

    Args:
        sequence: the graphs that generate the words.
        rerank_weight: the weight of the image–text similarity, added to a caption's log-probability; None: no
            re-ranking.
        uncertain_below: captions with a lower similarity are marked as uncertain; None: none is.
        retry: which images are captioned again, and how; None: none is.
    """

    KIND: ClassVar[str] = "captioner"

    sequence: SequencePart
    rerank_weight: Annotated[float, Meta(ge=0, le=1e6)] | None = None
    uncertain_below: Annotated[float, Meta(ge=-1e6, le=1e6)] | None = None
    retry: RetryPart | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("uncertain_below", "retry"):
            if getattr(self, key) is not None and not self.rerank_weight:
                raise invalid(f"captioner.{key} is set, but without a rerank_weight there is no similarity to compare")

    @property
    def files(self) -> list[str]:
        return [self.vocabulary, self.sequence.start, self.sequence.step, *([self.retry.words] if self.retry else [])]


class TaggerPart(Head, frozen=True):
    """Tags images, with a generator of label sequences or with a classifier."""

    KIND: ClassVar[str] = "tagger"

    sequence: SequencePart | None = None
    classifier: ClassifierPart | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.sequence is None) == (self.classifier is None):
            raise invalid("a tagger has either a sequence or a classifier")

    @property
    def files(self) -> list[str]:
        graphs = [self.sequence.start, self.sequence.step] if self.sequence is not None else []
        return [self.vocabulary, *graphs, *([self.classifier.graph] if self.classifier is not None else [])]


class RetrieverPart(Head, frozen=True):
    """Embeds images and texts in one space.

    Args:
        images: a graph from `features` to `embeddings`.
        texts: a graph from `tokens` (T, words) and `lengths` (T,) to `embeddings`.
    """

    KIND: ClassVar[str] = "retriever"

    images: FileName
    texts: FileName
    tokenizer: ShortLine
    similarity: ShortLine
    dimensions: Annotated[int, Meta(ge=1, le=1 << 20)]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_file("retriever.images", self.images, ".onnx")
        _check_file("retriever.texts", self.texts, ".onnx")
        for key, known in (("tokenizer", TOKENIZER_NAMES), ("similarity", tuple(SIMILARITIES))):
            if getattr(self, key) not in known:
                raise invalid(f"retriever.{key} is {getattr(self, key)!a}; expected one of: {', '.join(known)}")

    @property
    def files(self) -> list[str]:
        return [self.vocabulary, self.images, self.texts]
