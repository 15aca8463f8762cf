"""Captions of many images by a captioner as it stands, and how good they are."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from seetell.decoding import Decoded, Rules, beam_search, greedy
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.recipes import CaptioningDecoding, Recipe
from seetell.learn.training.inputs import ImageInputs
from seetell.text import Vocabulary


def decoding_of(recipe: Recipe) -> CaptioningDecoding:
    """The decoding settings of a captioning recipe."""
    assert isinstance(recipe.decoding, CaptioningDecoding)
    return recipe.decoding


def rules(settings: CaptioningDecoding, vocabulary: Vocabulary) -> Rules:
    """Padding and unknown words are never written."""
    return Rules(
        start=vocabulary.start,
        end=vocabulary.end,
        max_length=settings.maximum_length,
        forbidden=(vocabulary.pad, vocabulary.unknown),
        block_ngrams=settings.block_ngrams,
    )


def tell(
    model: CaptionModel,
    images: ImageInputs,
    vocabulary: Vocabulary,
    settings: CaptioningDecoding,
    *,
    places: np.ndarray | None = None,
    when: Literal["validation", "test"] = "test",
    batch: int = 64,
) -> list[Decoded]:
    """The best caption of each image, or of those at `places`. The model must be in evaluation mode."""
    places = np.arange(len(images)) if places is None else places
    law, decoder = rules(settings, vocabulary), TorchDecoder(model)
    beam = settings.beam if when == "test" else settings.validation_beam
    told: list[Decoded] = []
    for start in range(0, len(places), batch):
        features = images.batch(places[start : start + batch]).numpy()
        if beam == 1:
            told += greedy(decoder, features, law)
        else:
            told += [best for best, *_ in beam_search(decoder, features, law, beam=beam, alpha=settings.alpha)]
    return told


def sentences(told: Sequence[Decoded], vocabulary: Vocabulary) -> list[list[str]]:
    """The words of each caption."""
    return [vocabulary.decode(one.tokens.tolist()) for one in told]
