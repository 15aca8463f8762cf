"""The `[decoding]` table of a recipe, one struct per task. No PyTorch here: reading a recipe must stay cheap."""

from typing import Annotated, Literal

from msgspec import Meta

from seetell.settings import Settings

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
CaptionMetric = Literal[
    "bleu1",
    "bleu2",
    "bleu3",
    "bleu4",
    "bleu1_no_bp",
    "bleu2_no_bp",
    "bleu3_no_bp",
    "bleu4_no_bp",
    "rouge_l",
    "cider",
    "next_word_accuracy",
]


class DecodingSettings(Settings, frozen=True):
    """Base class of the tasks' decoding settings."""


class CaptioningDecoding(DecodingSettings, frozen=True):
    """How captions are generated, and how they select the best epoch.

    Args:
        beam: hypotheses per image at test time; 1 is greedy decoding.
        alpha: exponent of beam search's length normalisation; 0: none.
        maximum_length: the most words in a caption.
        block_ngrams: n-grams of this many words never repeat within a caption; 0: no limit.
        select: the validation metric that selects the best epoch: "bleu4" (Xu), "cider", …
        validation_beam: as `beam`, during training.
        validation_images: how many validation images are captioned after each epoch, always the same; 0: all.

    Example:
        >>> str(CaptioningDecoding(beam=3))
        'beam 3, length exponent 0, at most 20 words'
    """

    beam: Positive = 5
    alpha: Annotated[float, Meta(ge=0)] = 0.0
    maximum_length: Positive = 20
    block_ngrams: Count = 0
    select: CaptionMetric = "bleu4"
    validation_beam: Positive = 1
    validation_images: Count = 0

    def __str__(self) -> str:
        blocked = f", no {self.block_ngrams}-gram twice" if self.block_ngrams else ""
        return f"{_search(self.beam, self.alpha)}, at most {self.maximum_length} words{blocked}"


class TaggingDecoding(DecodingSettings, frozen=True):
    """How labels are chosen.

    Args:
        beam: label sequences: hypotheses per image at test time; 1 is greedy decoding.
        validation_beam: as `beam`, during training.
        alpha: label sequences: exponent of beam search's length normalisation.
        maximum: label sequences: the most labels per image; 0: no limit.
        choose: classifiers: the `top` labels of each image, or those above `thresholds`, one per label, fitted on the
            validation split.
        fit: whether thresholds are fitted for the best F1 of each `label` or of each `image`.
        top: how many labels `choose = "top"` gives.
        train_images: how many training images are tagged after each epoch for comparison, always the same.
    """

    beam: Positive = 1
    validation_beam: Positive = 1
    alpha: Annotated[float, Meta(ge=0)] = 0.0
    maximum: Count = 0
    choose: Literal["top", "thresholds"] = "top"
    fit: Literal["label", "image"] = "label"
    top: Positive = 3
    train_images: Count = 1000

    def protocol(self, *, sequence: bool) -> str:
        """How labels are chosen, in words; `sequence`: by a label-sequence model."""
        if sequence:
            return f"{_search(self.beam, self.alpha)}, no label twice"
        if self.choose == "top":
            return f"top {self.top}"
        return f"one threshold per label, fitted on the validation split for the best F1 by {self.fit}"


class RetrievalDecoding(DecodingSettings, frozen=True):
    """Retrieval decodes nothing, so its `[decoding]` table has no settings."""


def _search(beam: int, alpha: float) -> str:
    return f"beam {beam}, length exponent {alpha:g}" if beam > 1 else "greedy"
