"""Tag many images with a model in training or a trained one: by label sequences, or by a classifier's scores."""

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
from seetell.learn.recipes import Recipe
from seetell.learn.recipes.decoding import TaggingDecoding
from seetell.learn.training.inputs import ImageInputs
from seetell.metrics.labels import label_scores, mean_average_precision, top_labels
from seetell.text import Vocabulary

BATCH = 128


def decoding_of(recipe: Recipe) -> TaggingDecoding:
    """A tagging recipe's `[decoding]`."""
    assert isinstance(recipe.decoding, TaggingDecoding)
    return recipe.decoding


@dataclass(frozen=True)
class TagPredictions:
    """Predicted labels of some images, (images, labels of the vocabulary) each.

    Args:
        chosen: the predicted labels.
        confidence: from 0 to 1; for label sequences, 0 for labels that are in none.
        sequences: for label sequences, the best one of each image.
    """

    chosen: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    sequences: list[Decoded] | None = None

    def labels(self, image: int, vocabulary: Vocabulary) -> list[str]:
        """One image's labels: in the order of its sequence, or by descending confidence."""
        if self.sequences is not None:
            return vocabulary.decode(self.sequences[image].tokens.tolist())
        chosen = np.flatnonzero(self.chosen[image])
        order = np.argsort(-self.confidence[image, chosen], kind="stable")
        return [vocabulary.words[label] for label in chosen[order]]

    def scores(self, truth: NDArray[np.bool_]) -> dict[str, float]:
        """All scores; columns of `truth` beyond the vocabulary's are labels that the model does not have."""
        unknown = truth.shape[1] - self.chosen.shape[1]
        chosen = np.pad(self.chosen, ((0, 0), (0, unknown)))
        confidence = np.pad(self.confidence, ((0, 0), (0, unknown)))
        if self.sequences is None:
            return label_scores(truth, chosen, confidence)
        # The top three labels of a sequence are only ever labels that it contains.
        top = top_labels(np.where(chosen, confidence, -np.inf), 3)
        top_scores = {f"{name}_top3": value for name, value in label_scores(truth, top).items()}
        return {**label_scores(truth, chosen), "map": mean_average_precision(truth, confidence), **top_scores}


def tag(
    model: nn.Module,
    images: ImageInputs,
    vocabulary: Vocabulary,
    settings: TaggingDecoding,
    *,
    indices: NDArray[np.int64] | None = None,
    testing: bool = False,
) -> TagPredictions:
    """Tag images with a model of either kind.

    Args:
        model: in evaluation mode.
        indices: which images; None: all.
        testing: use `settings.beam`, not `settings.validation_beam`.
    """
    if isinstance(model, Scorer):
        return choose_labels(model, all_logits(model, images, indices), settings)
    beam = settings.beam if testing else settings.validation_beam
    return label_sequences(cast(CaptionModel, model), images, vocabulary, settings, beam=beam, indices=indices)


def label_sequences(
    model: CaptionModel,
    images: ImageInputs,
    vocabulary: Vocabulary,
    settings: TaggingDecoding,
    *,
    beam: int,
    indices: NDArray[np.int64] | None = None,
) -> TagPredictions:
    """Decode each image's label sequence, no label twice.

    With a beam, the confidence of a label is the share of the beams' probability in sequences that contain it; without,
    its probability at its step. Beam search includes the greedy sequence, so it never scores below it.
    """
    first = len(vocabulary.specials)
    rules = Rules(
        start=vocabulary.start,
        end=vocabulary.end,
        max_length=settings.maximum or len(vocabulary.words),
        forbidden=(vocabulary.pad,),
        block_ngrams=1,
    )
    indices = np.arange(len(images)) if indices is None else indices
    chosen = np.zeros((len(indices), len(vocabulary.words)), dtype=bool)
    confidence = np.zeros(chosen.shape)
    decoder, best = TorchDecoder(model), list[Decoded]()
    for start in range(0, len(indices), BATCH):
        features = images.batch(indices[start : start + BATCH]).numpy()
        if beam == 1:
            beams = [[one] for one in greedy(decoder, features, rules)]
        else:
            beams = beam_search(
                decoder, features, rules, beam=beam, alpha=settings.alpha, n_best=beam, include_greedy=True
            )
        for row, found in enumerate(beams, start):
            chosen[row, found[0].tokens - first] = True
            shares = step_confidences(found[0]) if beam == 1 else label_confidences(found)
            confidence[row, [label - first for label in shares]] = list(shares.values())
            best.append(found[0])
    return TagPredictions(chosen, confidence, best)


@torch.inference_mode()
def all_logits(model: nn.Module, images: ImageInputs, indices: NDArray[np.int64] | None = None) -> NDArray[Any]:
    """A classifier's logits of some images, in order; without `indices` of all."""
    indices = np.arange(len(images)) if indices is None else indices
    device = next(model.parameters()).device
    parts = [
        model(images.batch(indices[start : start + BATCH]).to(device)).float().cpu()
        for start in range(0, len(indices), BATCH)
    ]
    return torch.cat(parts).numpy()


def choose_labels(model: Scorer, logits: NDArray[Any], settings: TaggingDecoding) -> TagPredictions:
    """Choose labels by a classifier's logits."""
    confidence = model.confidence(torch.from_numpy(logits)).double().cpu().numpy()
    if settings.choose == "top":
        return TagPredictions(top_labels(logits, settings.top), confidence)
    return TagPredictions(logits > model.thresholds.cpu().numpy(), confidence)
