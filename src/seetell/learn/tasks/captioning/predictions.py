"""The captions of a test split in a file, one JSON object per line."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seetell.files import write_file

if TYPE_CHECKING:  # result pages are drawn without PyTorch
    from seetell.learn.training.task import Prediction

PREDICTIONS = "predictions.jsonl"


@dataclass(frozen=True)
class CaptionPrediction:
    """An image's name, its generated caption, its reference captions, and the caption's CIDEr."""

    image: str
    caption: str
    references: Sequence[str]
    cider: float

    @classmethod
    def of(cls, prediction: "Prediction") -> "CaptionPrediction":
        """A prediction of an evaluation."""
        return cls(prediction.image, prediction.predicted[0], list(prediction.truth), prediction.score or 0.0)


def write_predictions(path: Path, captions: Sequence[CaptionPrediction]) -> None:
    """Write one JSON object per image and line."""
    write_file(path, "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in captions))


def read_predictions(path: Path) -> list[CaptionPrediction]:
    """Read what `write_predictions` wrote."""
    return [CaptionPrediction(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
