"""Labels of many images by a tagger as it stands: told as sequences, or chosen by score."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from seetell.decoding import Decoded, Rules, beam_search, greedy, label_confidences, step_confidences
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.classifier import Scorer
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.recipes import Recipe, TaggingDecoding
from seetell.learn.training.inputs import ImageInputs
from seetell.metrics.labels import label_scores, mean_average_precision, top_labels
from seetell.text import Vocabulary

BATCH = 128


def decoding_of(recipe: Recipe) -> TaggingDecoding:
    """The decoding settings of a tagging recipe."""
    assert isinstance(recipe.decoding, TaggingDecoding)
    return recipe.decoding


@dataclass(frozen=True)
class TagPredictions:
    """What a tagger said of some images, by label of the vocabulary: (images, labels) each.

    Args:
        chosen: the labels it gave.
        confidence: from 0 to 1; of label sequences, 0 for labels that are in none.
        sequences: of label sequences, the best of each image.
    """

    chosen: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    sequences: list[Decoded] | None = None

    def told(self, place: int, vocabulary: Vocabulary) -> list[str]:
        """One image's labels: in the order of its sequence, or from the surest to the least sure."""
        if self.sequences is not None:
            return vocabulary.decode(self.sequences[place].tokens.tolist())
        chosen = np.flatnonzero(self.chosen[place])
        order = np.argsort(-self.confidence[place, chosen], kind="stable")
        return [vocabulary.words[label] for label in chosen[order]]

    def scores(self, truth: NDArray[np.bool_]) -> dict[str, float]:
        """All scores; columns of `truth` beyond the vocabulary's are of labels that could not be known."""
        unknown = truth.shape[1] - self.chosen.shape[1]
        chosen = np.pad(self.chosen, ((0, 0), (0, unknown)))
        confidence = np.pad(self.confidence, ((0, 0), (0, unknown)))
        if self.sequences is None:
            return label_scores(truth, chosen, confidence)
        # The best three labels of a sequence are never filled up with labels that it does not have.
        top = top_labels(np.where(chosen, confidence, -np.inf), 3)
        top_scores = {f"{name}_top3": value for name, value in label_scores(truth, top).items()}
        return {**label_scores(truth, chosen), "map": mean_average_precision(truth, confidence), **top_scores}


def tag(
    model: nn.Module,
    images: ImageInputs,
    vocabulary: Vocabulary,
    settings: TaggingDecoding,
    *,
    places: NDArray[np.int64] | None = None,
    testing: bool = False,
) -> TagPredictions:
    """Tag images, or those at `places`, with a model of either kind, which must be in evaluation mode."""
    if isinstance(model, Scorer):
        return choose_labels(model, all_logits(model, images, places), settings)
    beam = settings.beam if testing else settings.validation_beam
    return tell_labels(cast(CaptionModel, model), images, vocabulary, settings, beam=beam, places=places)


def tell_labels(
    model: CaptionModel,
    images: ImageInputs,
    vocabulary: Vocabulary,
    settings: TaggingDecoding,
    *,
    beam: int,
    places: NDArray[np.int64] | None = None,
) -> TagPredictions:
    """Tell each image's labels, none twice.

    With a beam, the confidence of a label is the share of the beams' probability that is in sequences with it; without,
    how probable it was at its step. Beam search lets the greedy sequence compete, and so never scores below it.
    """
    first = len(vocabulary.specials)
    rules = Rules(
        start=vocabulary.start,
        end=vocabulary.end,
        max_length=settings.maximum or len(vocabulary.words),
        forbidden=(vocabulary.pad,),
        block_ngrams=1,
    )
    places = np.arange(len(images)) if places is None else places
    chosen = np.zeros((len(places), len(vocabulary.words)), dtype=bool)
    confidence = np.zeros(chosen.shape)
    decoder, told = TorchDecoder(model), list[Decoded]()
    for start in range(0, len(places), BATCH):
        features = images.batch(places[start : start + BATCH]).numpy()
        if beam == 1:
            beams = [[one] for one in greedy(decoder, features, rules)]
        else:
            beams = beam_search(
                decoder, features, rules, beam=beam, alpha=settings.alpha, n_best=beam, include_greedy=True
            )
        for row, found in enumerate(beams, start):
            chosen[row, found[0].tokens - first] = True
            sure = step_confidences(found[0]) if beam == 1 else label_confidences(found)
            confidence[row, [label - first for label in sure]] = list(sure.values())
            told.append(found[0])
    return TagPredictions(chosen, confidence, told)


@torch.inference_mode()
def all_logits(model: nn.Module, images: ImageInputs, places: NDArray[np.int64] | None = None) -> NDArray[Any]:
    """A classifier's logits of all images, or of those at `places`, in order."""
    places = np.arange(len(images)) if places is None else places
    device = next(model.parameters()).device
    parts = [
        model(images.batch(places[start : start + BATCH]).to(device)).float().cpu()
        for start in range(0, len(places), BATCH)
    ]
    return torch.cat(parts).numpy()


def choose_labels(model: Scorer, logits: NDArray[Any], settings: TaggingDecoding) -> TagPredictions:
    """Labels by a classifier's logits."""
    confidence = model.confidence(torch.from_numpy(logits)).double().cpu().numpy()
    if settings.choose == "top":
        return TagPredictions(top_labels(logits, settings.top), confidence)
    return TagPredictions(logits > model.thresholds.cpu().numpy(), confidence)
