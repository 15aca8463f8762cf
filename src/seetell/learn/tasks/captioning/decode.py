"""Generate captions for many images with a model in training or a trained one."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch

from seetell.decoding import Decoded, Rules, beam_search, greedy
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.recipes import Recipe
from seetell.learn.recipes.decoding import CaptioningDecoding
from seetell.learn.tasks.captioning.data import CaptionedImages
from seetell.learn.tasks.captioning.objectives import accuracy, split
from seetell.learn.training.inputs import ImageInputs, in_batches
from seetell.text import Vocabulary


def decoding_of(recipe: Recipe) -> CaptioningDecoding:
    """A captioning recipe's `[decoding]`."""
    assert isinstance(recipe.decoding, CaptioningDecoding)
    return recipe.decoding


def rules(settings: CaptioningDecoding, vocabulary: Vocabulary) -> Rules:
    """The rules of decoding; padding and unknown words are never generated."""
    return Rules(
        start=vocabulary.start,
        end=vocabulary.end,
        max_length=settings.maximum_length,
        forbidden=(vocabulary.pad, vocabulary.unknown),
        block_ngrams=settings.block_ngrams,
    )


def generate(
    model: CaptionModel,
    images: ImageInputs,
    vocabulary: Vocabulary,
    settings: CaptioningDecoding,
    *,
    indices: np.ndarray | None = None,
    when: Literal["validation", "test"] = "test",
    batch: int = 64,
) -> list[Decoded]:
    """The best caption of each image.

    Args:
        model: in evaluation mode.
        indices: which images; None: all.
        when: chooses between `settings.beam` and `settings.validation_beam`.
    """
    indices = np.arange(len(images)) if indices is None else indices
    limits, decoder = rules(settings, vocabulary), TorchDecoder(model)
    beam = settings.beam if when == "test" else settings.validation_beam
    decoded: list[Decoded] = []
    for start in range(0, len(indices), batch):
        features = images.batch(indices[start : start + batch]).numpy()
        if beam == 1:
            decoded += greedy(decoder, features, limits)
        else:
            decoded += [best for best, *_ in beam_search(decoder, features, limits, beam=beam, alpha=settings.alpha)]
    return decoded


def sentences(decoded: Sequence[Decoded], vocabulary: Vocabulary) -> list[list[str]]:
    """The words of each caption."""
    return [vocabulary.decode(caption.tokens.tolist()) for caption in decoded]


@torch.inference_mode()
def next_word_accuracy(model: CaptionModel, data: CaptionedImages, images: np.ndarray) -> float:
    """The share of words (in per cent) that the model predicts after reading the true words before them, on the first
    caption of some images."""
    device = next(model.parameters()).device
    first = np.searchsorted(data.owners, images)
    chosen = first[np.argsort(-data.captions.lengths[first], kind="stable")]  # no step is spent on padding
    right = total = 0
    for some in in_batches(len(chosen), 64):
        tokens, _ = data.captions.pad(chosen[some])
        read, words, mask = split(tokens.to(device))
        features = data.images.batch(data.owners[chosen[some]]).to(device)
        hits, number = accuracy(model(features, read), words, mask)
        right, total = right + hits, total + number
    return 100 * right / max(1, total)
