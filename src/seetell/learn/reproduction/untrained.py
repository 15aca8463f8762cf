"""The captioners that learn nothing (`seetell.learn.reproduction.baselines`), on a dataset's test split, scored as others are."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seetell.learn.recipes import Recipe
from seetell.learn.reproduction.baselines import ConsensusCaptioner, template_caption
from seetell.learn.tasks.captioning.task import score_told
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.inputs import ImageInputs, in_batches
from seetell.learn.training.run import make_features, open_data
from seetell.progress import Progress
from seetell.runtime import Model
from seetell.text import ptb

NEIGHBOURS = 20


def consensus(
    recipe: Recipe, specs: Sequence[str], options: Mapping[str, Any], *, root: Path | None, progress: Progress
) -> dict[str, Any]:
    """Tell test images by the captions of the training images most like them, as the recipe's encoder sees them."""
    dataset = open_data(specs)
    features = make_features(recipe, dataset, ("train", "test"), root=root, progress=progress)
    training_data = TrainingData(recipe, dataset, features)
    train, seen = training_data.split("train", captioned)
    records, images = training_data.split("test", captioned)
    started = time.monotonic()
    captioner = ConsensusCaptioner(
        _values(seen), [[ptb(caption) for caption in record.captions] for record in train], NEIGHBOURS
    )
    told = [[str(word) for word in words] for words in captioner(_values(images))]
    seconds = time.monotonic() - started
    found = score_told(records, told, dataset, options)
    return {
        **found,
        "protocol": f"the consensus caption of the {NEIGHBOURS} nearest training images; {found['protocol']}",
        "seconds_telling": round(seconds, 4),
        "encoder_fingerprint": features.store.spec.encoder_fingerprint,
    }


def template(model: Model, specs: Sequence[str], options: Mapping[str, Any], *, progress: Progress) -> dict[str, Any]:
    """Tell test images by a sentence that lists the labels a bundle's tagger gives them.

    It is not timed: other captioners are timed without the reading of images, which a bundle's heads include.
    """
    dataset = open_data(specs)
    asked = [record for record in dataset.split("test") if captioned(record)]
    tagged = model.tagger([record.image for record in asked], progress=progress)
    good = [(record, each.labels) for record, each in zip(asked, tagged, strict=True) if each.error is None]
    records, told = [record for record, _ in good], [ptb(template_caption(labels)) for _, labels in good]
    found = score_told(records, told, dataset, options)
    return {
        **found,
        "protocol": f"labels by the tagger of {model.bundle.manifest.name} in a fixed sentence; {found['protocol']}",
        "encoder_fingerprint": model.bundle.fingerprint,
    }


def _values(images: ImageInputs) -> np.ndarray:
    places = np.arange(len(images))
    return np.concatenate([images.batch(places[some]).numpy() for some in in_batches(len(images), 256)])
