"""The untrained baselines (`seetell.learn.reproduction.baselines`) on a test split, scored like any captioner."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from seetell.learn.recipes import Recipe
from seetell.learn.reproduction.baselines import ConsensusCaptioner, template_caption
from seetell.learn.tasks.captioning.evaluate import score_predictions
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.features import make_features, open_data
from seetell.learn.training.inputs import ImageInputs, in_batches
from seetell.learn.training.task import Evaluation
from seetell.progress import Progress
from seetell.runtime import Model
from seetell.text import ptb

NEIGHBOURS = 20


def consensus(
    recipe: Recipe, specs: Sequence[str], *, store: Path | None, progress: Progress
) -> tuple[Evaluation, str]:
    """Caption test images with the consensus caption of the most similar training images.

    Args:
        recipe: gives the encoder whose features are compared.

    Returns:
        the evaluation, and the encoder's fingerprint.
    """
    dataset = open_data(specs)
    features = make_features(recipe, dataset, ("train", "test"), store=store, progress=progress)
    training_data = TrainingData(recipe, dataset, features)
    train, train_images = training_data.split("train", captioned)
    records, images = training_data.split("test", captioned)
    started = time.monotonic()
    captioner = ConsensusCaptioner(
        _values(train_images), [[ptb(caption) for caption in record.captions] for record in train], NEIGHBOURS
    )
    captions = [[str(word) for word in words] for words in captioner(_values(images))]
    seconds = time.monotonic() - started
    found = score_predictions(records, captions, dataset)
    protocol = f"the consensus caption of the {NEIGHBOURS} nearest training images; {found.protocol}"
    return replace(found, protocol=protocol, seconds=seconds), features.store.spec.encoder_fingerprint


def template(model: Model, specs: Sequence[str], *, progress: Progress) -> tuple[Evaluation, str]:
    """Caption test images with a sentence that lists the labels of a model's tagger.

    It is not timed: other captioners are timed without decoding image files, which a model's heads include.

    Returns:
        the evaluation, and the model's fingerprint.
    """
    dataset = open_data(specs)
    test = [record for record in dataset.split("test") if captioned(record)]
    tagged = model.tagger([record.image for record in test], progress=progress)
    good = [(record, each.labels) for record, each in zip(test, tagged, strict=True) if each.error is None]
    records, captions = [record for record, _ in good], [ptb(template_caption(labels)) for _, labels in good]
    found = score_predictions(records, captions, dataset)
    protocol = f"labels of the tagger of {model.bundle.manifest.name} in a fixed sentence; {found.protocol}"
    return replace(found, protocol=protocol), model.bundle.fingerprint


def _values(images: ImageInputs) -> np.ndarray:
    indices = np.arange(len(images))
    return np.concatenate([images.batch(indices[some]).numpy() for some in in_batches(len(images), 256)])
