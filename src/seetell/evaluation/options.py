"""The options of an evaluation, of a model as of a training run."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from seetell.errors import SeetellError
from seetell.settings import Settings


class EvaluationOptions(Settings, frozen=True):
    """How to evaluate; None means that the model's own setting is used.

    Args:
        folds: retrieval: cut the split into this many parts and average over them.
        beam: captions and label sequences: the width of the beam search.
        length: captions: the length exponent of the beam search.
        rerank_weight: captions: the weight of the image–text similarity; 0 turns re-ranking off.
        limit: evaluate at most this many images, evenly spaced.
        meteor: captions: True requires METEOR, "auto" computes it if Java and pycocoevalcap are installed.
        sheet: a folder for pages with examples; None: no pages.

    Example:
        >>> EvaluationOptions(folds=5, beam=3).beam
        3
    """

    folds: Annotated[int, Meta(ge=1)] = 1
    beam: Annotated[int, Meta(ge=1, le=100)] | None = None
    length: Annotated[float, Meta(ge=0, le=10)] | None = None
    rerank_weight: Annotated[float, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None
    meteor: bool | Literal["auto"] = "auto"
    sheet: Path | None = None

    def __post_init__(self) -> None:
        for name, least in (("folds", 1), ("beam", 1), ("limit", 1), ("length", 0), ("rerank_weight", 0)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise SeetellError(f"{name} is {value}; expected a number ≥ {least}")
