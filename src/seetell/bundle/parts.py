"""The parts of `bundle.json`: the encoder, and what each head consists of."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from seetell.bundle.fields import Fields
from seetell.errors import SeetellError
from seetell.images import Preparation
from seetell.similarity import SIMILARITIES
from seetell.text import TOKENIZER_NAMES

_FILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}\.(onnx|txt)")
# Windows opens devices by these names, whatever the suffix.
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_LAYOUT = re.compile(r"pooled|levels|full_network|grid(:[1-9][0-9]?|\+levels)?")
_STATE = re.compile(r"[a-z][a-z0-9_]{0,39}")


def _file(fields: Fields, key: str, suffix: str) -> str:
    name = fields.text(key, most=200)
    if not is_file_name(name) or not name.endswith(suffix):
        fields.refuse(f"{key} is {name!a}, which cannot be the name of one of its files")
    return name


def is_file_name(name: str) -> bool:
    """Lower case only, so that no two names are one on any disk; no folders, dots, devices, streams."""
    return bool(_FILE.fullmatch(name)) and name.partition(".")[0] not in DEVICES


@dataclass(frozen=True)
class Layout:
    """A layout of features that the encoder gives: one image's shape, and the widths a row is divided into."""

    name: str
    shape: tuple[int, ...]
    sections: tuple[int, ...]

    @classmethod
    def read(cls, fields: Fields) -> Self:
        name = fields.text("name", most=20)
        layout = cls(name, fields.wholes("shape", 1, 1 << 24), fields.wholes("sections", 1, 1 << 24))
        fields.finish()
        if not _LAYOUT.fullmatch(name) or len(layout.shape) != (2 if name.startswith("grid") else 1):
            fields.refuse(f"{name!a} of shape {layout.shape} is not a layout")
        own = layout.sections[:1] if name == "grid+levels" else layout.sections  # the others stand below the grid
        if sum(own) != layout.shape[-1]:
            fields.refuse("the sections are not as wide as the layout")
        return layout


@dataclass(frozen=True)
class EncoderPart:
    """The network: prepared `pixels` (N × 3 × size × size) to features, an output named after each layout."""

    name: str
    fingerprint: str  # of the weights it was made from
    graph: str
    preparation: Preparation
    layouts: tuple[Layout, ...]

    @classmethod
    def read(cls, fields: Fields) -> Self:
        try:
            preparation = Preparation.from_json(fields.take("preparation"), where=fields.where)
        except (SeetellError, TypeError) as error:
            fields.refuse(error.problem if isinstance(error, SeetellError) else "the preparation cannot be read")
        part = cls(
            fields.text("name", most=500),
            fields.text("fingerprint", most=100),
            _file(fields, "graph", ".onnx"),
            preparation,
            tuple(Layout.read(each) for each in fields.rows("layouts")),
        )
        fields.finish()
        names = [layout.name for layout in part.layouts]
        if not names or len(names) != len(set(names)):
            fields.refuse("the layouts are none, or one is there twice")
        if preparation.crop_count > 1 and any(name.startswith("grid") for name in names):
            fields.refuse("a grid cannot be averaged over crops")
        return part

    def to_json(self) -> dict[str, Any]:
        plain = {key: getattr(self, key) for key in ("name", "fingerprint", "graph")}
        layouts = [dataclasses.asdict(layout) for layout in self.layouts]
        return {**plain, "preparation": self.preparation.to_json(), "layouts": layouts}

    def layout(self, name: str) -> Layout:
        return next(layout for layout in self.layouts if layout.name == name)


@dataclass(frozen=True)
class Score:
    """What was measured, on what, and how."""

    data: str
    split: str
    protocol: str
    images: int
    measured_on: str  # the "bundle", or the "checkpoint" it was made from
    metrics: Mapping[str, Any]

    @classmethod
    def read(cls, fields: Fields) -> Self:
        score = cls(
            fields.text("data", most=1_000),
            fields.text("split", most=100),
            fields.text("protocol", most=1_000),
            fields.whole("images", 0, 1 << 40),
            fields.choice("measured_on", ("bundle", "checkpoint")),
            fields.metrics("metrics"),
        )
        fields.finish()
        return score


@dataclass(frozen=True)
class Decoding:
    """How sequences are written unless the user says otherwise; see `seetell.decoding`."""

    beam: int = 3
    alpha: float = 0.0
    maximum_length: int = 20
    minimum_length: int = 0
    block_ngrams: int = 0

    @classmethod
    def read(cls, fields: Fields) -> Self:
        decoding = cls(
            fields.whole("beam", 1, 100),
            fields.number("alpha", 0, 10),
            fields.whole("maximum_length", 1, 100_000),
            fields.whole("minimum_length", 0, 100_000),
            fields.whole("block_ngrams", 0, 100),
        )
        fields.finish()
        if decoding.minimum_length > decoding.maximum_length:
            fields.refuse("the least length is above the greatest")
        return decoding


@dataclass(frozen=True)
class StatePart:
    """One tensor of a decoder's state: its shape for one row, and whether steps leave it as it is."""

    name: str
    shape: tuple[int, ...]
    constant: bool

    @classmethod
    def read(cls, fields: Fields) -> Self:
        part = cls(fields.text("name", most=40), fields.wholes("shape", 1, 1 << 24), fields.flag("constant"))
        fields.finish()
        if not _STATE.fullmatch(part.name) or len(part.shape) > 6:
            fields.refuse(f"{part.name!a} of shape {part.shape} is not a state")
        return part


@dataclass(frozen=True)
class SequencePart:
    """Two graphs that write words or labels: `start`, from features to a state, and `step`, from token to token.

    `start` takes `features` and gives an output a state; `step` takes `tokens` (R,) and an input a state, and gives
    `log_probs` (R, V), `attention` (R, L) if it has one, and `next_NAME` for each state that is not constant.
    """

    start: str
    step: str
    state: tuple[StatePart, ...]
    attention: bool
    decoding: Decoding

    @classmethod
    def read(cls, fields: Fields) -> Self:
        part = cls(
            _file(fields, "start", ".onnx"),
            _file(fields, "step", ".onnx"),
            tuple(StatePart.read(each) for each in fields.rows("state")),
            fields.flag("attention"),
            Decoding.read(fields.inner("decoding")),
        )
        fields.finish()
        names = [state.name for state in part.state]
        if not names or len(names) != len(set(names)):
            fields.refuse("the states are none, or one is there twice")
        return part


@dataclass(frozen=True)
class ClassifierPart:
    """One graph from `features` to `logits` and `probabilities` (N, labels each).

    Told are the labels whose logits are over their thresholds, or where `top` is not 0, so many with the greatest.
    """

    graph: str
    thresholds: tuple[float, ...]
    top: int

    @classmethod
    def read(cls, fields: Fields) -> Self:
        part = cls(
            _file(fields, "graph", ".onnx"),
            fields.numbers("thresholds", -1e9, 1e9),
            fields.whole("top", 0, 100_000),
        )
        fields.finish()
        if not part.thresholds:
            fields.refuse("there are no thresholds")
        return part


@dataclass(frozen=True)
class Head:
    """What every head has: the layout it reads, its words or labels, its scores.

    Args:
        trained_as: the settings it was trained with, as JSON, for who trains it further; nothing else reads them.
    """

    KIND: ClassVar[str]

    layout: str
    vocabulary: str
    scores: tuple[Score, ...]
    trained_as: str = field(default="", kw_only=True)

    @staticmethod
    def common(fields: Fields) -> tuple[str, str, tuple[Score, ...]]:
        return (
            fields.text("layout", most=20),
            _file(fields, "vocabulary", ".txt"),
            tuple(Score.read(each) for each in fields.rows("scores")),
        )

    @staticmethod
    def settings(fields: Fields) -> str:
        return fields.text("trained_as", most=20_000) if "trained_as" in fields else ""


@dataclass(frozen=True)
class RetryPart:
    """Captions that fit less than `below` are told again, each time with another word that fits the image.

    `words` is a graph from the retriever's `embeddings` of images to the `tokens` (P, words) that fit them best.
    """

    words: str
    below: float

    @classmethod
    def read(cls, fields: Fields) -> Self:
        part = cls(_file(fields, "words", ".onnx"), fields.number("below", -1e6, 1e6))
        fields.finish()
        return part


@dataclass(frozen=True)
class CaptionerPart(Head):
    """Tells images in words.

    Args:
        rerank_weight: how much it counts, beside a caption's log-probability, how well the bundle's retriever finds that it
            fits the image; None: not at all.
        uncertain_below: a caption that fits less than this is uncertain; None: none is.
        retry: which captions are told again, and how; None: none is.
    """

    KIND: ClassVar[str] = "captioner"

    sequence: SequencePart
    rerank_weight: float | None = None
    uncertain_below: float | None = None
    retry: RetryPart | None = None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        sequence = SequencePart.read(fields.inner("sequence"))
        rerank_weight = fields.number("rerank_weight", 0, 1e6) if "rerank_weight" in fields else None
        uncertain_below = fields.number("uncertain_below", -1e6, 1e6) if "uncertain_below" in fields else None
        retry = RetryPart.read(fields.inner("retry")) if "retry" in fields else None
        part = cls(
            *Head.common(fields), sequence, rerank_weight, uncertain_below, retry, trained_as=Head.settings(fields)
        )
        fields.finish()
        if uncertain_below is not None and not rerank_weight:
            fields.refuse("its captions are to be doubted by their fit, and they are not matched")
        if retry is not None and not rerank_weight:
            fields.refuse("its captions are to be told again by their fit, and they are not matched")
        return part


@dataclass(frozen=True)
class TaggerPart(Head):
    """Names what is in images: a writer of label sequences, or a classifier."""

    KIND: ClassVar[str] = "tagger"

    sequence: SequencePart | None
    classifier: ClassifierPart | None

    @classmethod
    def read(cls, fields: Fields) -> Self:
        common = Head.common(fields)
        sequence = SequencePart.read(fields.inner("sequence")) if "sequence" in fields else None
        classifier = ClassifierPart.read(fields.inner("classifier")) if "classifier" in fields else None
        trained_as = Head.settings(fields)
        fields.finish()
        if (sequence is None) == (classifier is None):
            fields.refuse("a tagger is either a sequence or a classifier")
        return cls(*common, sequence, classifier, trained_as=trained_as)


@dataclass(frozen=True)
class RetrieverPart(Head):
    """Puts images and texts in one space.

    `images` takes `features`, `texts` takes `tokens` (T, words) and `lengths` (T,); each gives `embeddings`.
    """

    KIND: ClassVar[str] = "retriever"

    images: str
    texts: str
    tokenizer: str
    similarity: str
    dimensions: int

    @classmethod
    def read(cls, fields: Fields) -> Self:
        part = cls(
            *Head.common(fields),
            _file(fields, "images", ".onnx"),
            _file(fields, "texts", ".onnx"),
            fields.choice("tokenizer", TOKENIZER_NAMES),
            fields.choice("similarity", tuple(SIMILARITIES)),
            fields.whole("dimensions", 1, 1 << 20),
            trained_as=Head.settings(fields),
        )
        fields.finish()
        return part
