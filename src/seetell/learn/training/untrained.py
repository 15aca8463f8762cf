"""The captioners that learn nothing (`seetell.learn.baselines`), on a dataset's test split, scored as others are."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seetell.learn.baselines import ConsensusCaptioner, template_caption
from seetell.learn.recipes import Recipe
from seetell.learn.training.captions import score_told
from seetell.learn.training.inputs import PictureInputs, in_batches
from seetell.learn.training.materials import Materials, captioned
from seetell.learn.training.run import make_features, open_data
from seetell.progress import Progress
from seetell.runtime import Suite
from seetell.text import ptb

NEIGHBOURS = 20


def consensus(
    recipe: Recipe, specs: Sequence[str], options: Mapping[str, Any], *, root: Path | None, progress: Progress
) -> dict[str, Any]:
    """Tell test pictures by the captions of the training pictures most like them, as the recipe's encoder sees them."""
    dataset = open_data(specs)
    features = make_features(recipe, dataset, ("train", "test"), root=root, progress=progress)
    materials = Materials(recipe, dataset, features)
    train, seen = materials.split("train", captioned)
    records, pictures = materials.split("test", captioned)
    started = time.monotonic()
    captioner = ConsensusCaptioner(
        _values(seen), [[ptb(caption) for caption in record.captions] for record in train], NEIGHBOURS
    )
    told = [[str(word) for word in words] for words in captioner(_values(pictures))]
    seconds = time.monotonic() - started
    found = score_told(records, told, dataset, options)
    return {
        **found,
        "protocol": f"the consensus caption of the {NEIGHBOURS} nearest training pictures; {found['protocol']}",
        "seconds_telling": round(seconds, 4),
        "encoder_fingerprint": features.store.spec.encoder_fingerprint,
    }


def template(suite: Suite, specs: Sequence[str], options: Mapping[str, Any], *, progress: Progress) -> dict[str, Any]:
    """Tell test pictures by a sentence that lists the labels a bundle's tagger gives them.

    It is not timed: other captioners are timed without the reading of pictures, which a bundle's heads include.
    """
    dataset = open_data(specs)
    asked = [record for record in dataset.split("test") if captioned(record)]
    tagged = suite.tagger([record.picture for record in asked], progress=progress)
    good = [(record, each.labels) for record, each in zip(asked, tagged, strict=True) if each.error is None]
    records, told = [record for record, _ in good], [ptb(template_caption(labels)) for _, labels in good]
    found = score_told(records, told, dataset, options)
    return {
        **found,
        "protocol": f"labels by the tagger of {suite.bundle.manifest.name} in a fixed sentence; {found['protocol']}",
        "encoder_fingerprint": suite.bundle.fingerprint,
    }


def _values(pictures: PictureInputs) -> np.ndarray:
    places = np.arange(len(pictures))
    return np.concatenate([pictures.batch(places[some]).numpy() for some in in_batches(len(pictures), 256)])
