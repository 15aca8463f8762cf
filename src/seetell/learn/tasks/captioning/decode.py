"""Captions of many images by a captioner as it stands, and how good they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from seetell.decoding import Decoded, Rules, beam_search, greedy
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.recipes import RecipeError
from seetell.learn.training.inputs import ImageInputs
from seetell.text import Vocabulary


@dataclass(frozen=True)
class DecodingSettings:
    """A recipe's `[decoding]`: how captions are written, and how they choose the best epoch.

    Args:
        beam: hypotheses an image, where a model is tested; 1 is greedy.
        alpha: how far beam search normalises for length.
        maximum_length: the most words.
        block_ngrams: no n-gram of so many words comes twice; 0: any may.
        select: the metric that chooses the best epoch: "bleu4" (Xu), "cider", …
        validation_beam: as `beam`, while training.
        validation_images: how many validation images are told after each epoch, always the same; 0: all.
    """

    beam: int = 5
    alpha: float = 0.0
    maximum_length: int = 20
    block_ngrams: int = 0
    select: str = "bleu4"
    validation_beam: int = 1
    validation_images: int = 0

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "DecodingSettings":
        known = cls.__dataclass_fields__
        if unknown := sorted(table.keys() - known.keys()):
            raise RecipeError(
                f"there is no setting {unknown[0]!r}", where="[decoding]", remedy=f"It knows: {', '.join(known)}"
            )
        return cls(**table)

    def __str__(self) -> str:
        how = f"beam {self.beam}, length exponent {self.alpha:g}" if self.beam > 1 else "greedy"
        blocked = f", no {self.block_ngrams}-gram twice" if self.block_ngrams else ""
        return f"{how}, at most {self.maximum_length} words{blocked}"

    def rules(self, vocabulary: Vocabulary) -> Rules:
        """Padding and unknown words are never written."""
        return Rules(
            start=vocabulary.start,
            end=vocabulary.end,
            max_length=self.maximum_length,
            forbidden=(vocabulary.pad, vocabulary.unknown),
            block_ngrams=self.block_ngrams,
        )


def tell(
    model: CaptionModel,
    images: ImageInputs,
    vocabulary: Vocabulary,
    settings: DecodingSettings,
    *,
    places: np.ndarray | None = None,
    when: Literal["validation", "test"] = "test",
    batch: int = 64,
) -> list[Decoded]:
    """The best caption of each image, or of those at `places`. The model must be in evaluation mode."""
    places = np.arange(len(images)) if places is None else places
    rules, decoder = settings.rules(vocabulary), TorchDecoder(model)
    beam = settings.beam if when == "test" else settings.validation_beam
    told: list[Decoded] = []
    for start in range(0, len(places), batch):
        features = images.batch(places[start : start + batch]).numpy()
        if beam == 1:
            told += greedy(decoder, features, rules)
        else:
            told += [best for best, *_ in beam_search(decoder, features, rules, beam=beam, alpha=settings.alpha)]
    return told


def sentences(told: Sequence[Decoded], vocabulary: Vocabulary) -> list[list[str]]:
    """The words of each caption."""
    return [vocabulary.decode(one.tokens.tolist()) for one in told]
