"""What can be chosen when a model is evaluated."""

from typing import Literal

from seetell.settings import Settings


class EvaluationOptions(Settings, frozen=True):
    """Options of an evaluation. None means: as the model was trained or exported.

    Args:
        folds: retrieval: split the images into this many parts and average over them.
        beam: captions and label sequences: the width of beam search.
        length: captions: the exponent of length normalisation in beam search.
        rerank_weight: captions of an exported model: the weight of image–text similarity in re-ranking.
        limit: evaluate at most this many images, evenly spaced.
        meteor: whether to compute METEOR, which needs Java; "auto": if it is available.
        sheet: a folder for pages that show examples.
    """

    folds: int = 1
    beam: int | None = None
    length: float | None = None
    rerank_weight: float | None = None
    limit: int | None = None
    meteor: bool | Literal["auto"] = "auto"
    sheet: str | None = None
