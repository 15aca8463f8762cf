"""What can be chosen when models are exported, and what comes out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seetell.bundle import Bundle
from seetell.errors import SeetellError, did_you_mean
from seetell.learn.exporting.quantize import PRECISIONS
from seetell.runtime import ImageLike, Model

Report = Mapping[str, Mapping[str, Any]]
"""The scores of a model: for each head {"metrics", "protocol", "images"}."""


@dataclass(frozen=True)
class ModelInfo:
    """What people should know about an exported model.

    Args:
        name: lower-case letters, digits and hyphens.
        about: one sentence.
        licence: under which others may use it.
        training_data: the datasets it was trained on.
    """

    name: str
    about: str = ""
    licence: str = "not stated"
    training_data: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export.

    Args:
        quantize: "float16" or "int8" stores the weights in this precision; the effect on scores is measured.
        rerank_weight: the weight of image–text similarity, relative to a caption's log-probability, in re-ranking
            captions; needs a captioner and a retriever.
        uncertain_below: the similarity below which a caption is marked as uncertain.
        retry_below: the similarity below which an image is captioned again with the words most similar to it.
        base: a model with the same encoder; heads that no run replaces are kept from it.
        replace: overwrite an existing model.
    """

    quantize: str | None = None
    rerank_weight: float | None = None
    uncertain_below: float | None = None
    retry_below: float | None = None
    base: Bundle | None = None
    replace: bool = False

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.quantize is not None and self.quantize not in PRECISIONS:
            raise SeetellError(
                f"there is no precision {self.quantize!r}",
                where="--quantize",
                remedy=did_you_mean(self.quantize, PRECISIONS),
            )
        for name, value in (("--uncertain-below", self.uncertain_below), ("--retry-below", self.retry_below)):
            if value is not None and not self.rerank_weight:
                raise SeetellError(f"{name} needs --rerank-weight", remedy="Give both, or leave it out")


@dataclass(frozen=True)
class Samples:
    """Real inputs that an export needs.

    Args:
        images: on which the exported model and the checkpoints must agree before anything is written.
        texts: the same for the retriever's text side.
        typical: images of the training split, for the mean similarity of words; needed with `retry_below`.
    """

    images: Sequence[ImageLike]
    texts: Sequence[str] = ()
    typical: Sequence[ImageLike] = ()


@dataclass(frozen=True)
class Measurement:
    """How an exported model is scored; the manifest records the result.

    Args:
        score: gives the scores of each head of a model.
        data: the dataset that `score` uses, for the manifest.
        split: likewise.
    """

    score: Callable[[Model], Report]
    data: str
    split: str


@dataclass(frozen=True)
class QuantizationCost:
    """What quantization saves and costs: bytes, and the scores of each head before and after."""

    bytes_before: int
    bytes_after: int
    before: Report
    after: Report


@dataclass(frozen=True)
class Exported:
    """An exported model.

    Args:
        quantization: None where the weights were not quantized.
    """

    bundle: Bundle
    quantization: QuantizationCost | None = None
