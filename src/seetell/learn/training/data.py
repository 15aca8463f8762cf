"""The data of a run: records with their features, by split, and a transform fitted on the training split."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from seetell.data import Dataset, Record
from seetell.errors import DatasetError
from seetell.learn.encoders import Encoder, FullNetworkTransform, LayoutSpec, Principal, Standardise
from seetell.learn.encoders.layouts import taken_apart
from seetell.learn.encoders.transform import LevelsBelow
from seetell.learn.models.later_stages import LaterStages
from seetell.learn.models.live_encoder import LiveEncoder
from seetell.learn.recipes import EncoderSettings, Recipe
from seetell.learn.training.features import Features
from seetell.learn.training.inputs import ImageInputs, LiveImages, StoredFeatures, in_batches
from seetell.learn.training.warm_start import WarmStart
from seetell.progress import SILENT, Progress
from seetell.util import evenly_spaced

FITTED_ON = {"principal": 6_000}  # images: their Gram matrix is decomposed
CPU = torch.device("cpu")  # an encoder is loaded for real even where a model is built on torch.device("meta")
FITTED_ON_GRIDS = 2_000  # images: grids are large, and each has many locations


class Unit(nn.Module):
    """Normalises feature vectors to unit length, as Vilalta et al. do with FC7."""

    def forward(self, features: Tensor) -> Tensor:
        return normalize(features, dim=-1)


@dataclass(frozen=True)
class TrainingData:
    """A recipe, a dataset, the features of its images, and the weights that training starts from, if any."""

    recipe: Recipe
    dataset: Dataset
    features: Features
    warm_start: WarmStart | None = None
    progress: Progress = SILENT

    def split(self, name: str, wanted: Callable[[Record], object]) -> tuple[list[Record], ImageInputs]:
        """The usable records of a split, and their image inputs: stored features or, where the recipe trains from
        images, pixels.

        Args:
            wanted: what a record needs in addition to a readable image: `captioned` or `labelled`.
        """
        records = [r for r in self.dataset.split(name) if wanted(r) and r.key in self.features.rows]
        if not records:
            raise DatasetError(
                f"the split {name!r} has no usable images",
                where=self.dataset.name,
                remedy="Check it with: seetell check",
            )
        if self.recipe.encoder.live:
            return records, LiveImages(records, self.features.preparation, augment=self.recipe.encoder.augment)
        return records, _stored(self.features, records)

    def transform(self, images: ImageInputs) -> nn.Module:
        """The transform between raw features and the model, fitted on the training images.

        Where the recipe trains from images, it includes the encoder; where it trains later stages, these.
        """
        if isinstance(images, LiveImages):
            return live_transform(self.recipe.encoder, self._fitted(_stored(self.features, images.records)))
        if self.warm_start is not None:
            empty = empty_transform(self.recipe.encoder, self.features.layout)
            if self.warm_start.has(empty, "transform"):  # it is loaded with the weights, so few images are enough
                return empty
        if self.recipe.encoder.later_stages:
            first = later_stages(self.recipe.encoder)
            first.then = self._fitted(images, first)
            return first
        return self._fitted(images)

    def _fitted(self, images: ImageInputs, first: LaterStages | None = None) -> nn.Module:
        """A transform for features, or for the output of later stages."""
        name, layout = transform_name(self.recipe.encoder), self.features.layout
        if layout.levels:
            return self._fitted_levels(images, layout.levels)
        if name in ("none", "unit"):
            return unfitted_transform(self.recipe.encoder, layout, layout.shape[-1])
        most = FITTED_ON_GRIDS if len(layout.shape) > 1 else FITTED_ON.get(name, len(images))
        chosen = np.array(evenly_spaced(len(images), most))
        batches = (_rows(images.batch(chosen[some]), first) for some in in_batches(len(chosen), 256))
        if name == "principal":
            return Principal.fit(batches, **_principal(self.recipe.encoder, layout))
        kind = FullNetworkTransform if name == "full_network" else Standardise
        return kind.fit(batches)

    def _fitted_levels(self, images: ImageInputs, levels: int) -> LevelsBelow:
        """The levels below a grid are standardised; the grid is left unchanged."""
        chosen = np.array(evenly_spaced(len(images), FITTED_ON_GRIDS))
        batches = (images.batch(chosen[some]) for some in in_batches(len(chosen), 256))
        return LevelsBelow(Standardise.fit(taken_apart(batch, levels)[1].numpy() for batch in batches))


def _stored(features: Features, records: Sequence[Record]) -> StoredFeatures:
    """The records' features and, where all records have them, those of their mirror images."""
    mirrored = features.mirrored
    complete = mirrored is not None and all(record.key in mirrored.rows for record in records)
    rows = np.array([features.rows[record.key] for record in records])
    return StoredFeatures(features.store, rows, _stored(mirrored, records) if mirrored and complete else None)


@torch.no_grad()
def _rows(features: Tensor, first: LaterStages | None) -> np.ndarray:
    """Features as rows, one per location."""
    rows: np.ndarray = (features if first is None else first.eval()(features)).flatten(0, -2).numpy()
    return rows


def transform_name(encoder: EncoderSettings) -> str:
    """The transform of a recipe, or its layout's default."""
    return encoder.transform or {"pooled": "unit", "full_network": "full_network"}.get(encoder.layout, "none")


def empty_transform(encoder: EncoderSettings, layout: LayoutSpec) -> nn.Module:
    """A transform without statistics, and a jointly fine-tuned encoder without its weights: a checkpoint fills them."""
    if encoder.later_stages:
        first = later_stages(encoder)
        first.then = unfitted_transform(encoder, layout, first.width)
        return first
    transform = unfitted_transform(encoder, layout, layout.shape[-1])
    return live_transform(encoder, transform) if encoder.live else transform


def live_transform(settings: EncoderSettings, then: nn.Module) -> LiveEncoder:
    """The encoder as part of the model, followed by a transform."""
    with CPU:
        encoder = Encoder.load(settings.name)
    return LiveEncoder(encoder, settings.layout, then, settings.train, settings.frozen_stages, settings.learning_rate)


def later_stages(settings: EncoderSettings) -> LaterStages:
    """The encoder's stages after the stored feature map, with no transform after them yet."""
    with CPU:
        return LaterStages(Encoder.load(settings.name), settings.layout, nn.Identity(), settings.learning_rate)


def unfitted_transform(encoder: EncoderSettings, layout: LayoutSpec, width: int) -> nn.Module:
    """A transform without statistics, for features of some width."""
    if layout.levels:
        return LevelsBelow(Standardise(layout.levels))
    match transform_name(encoder):
        case "unit":
            return Unit()
        case "standardise":
            return Standardise(width)
        case "full_network":
            return FullNetworkTransform(width)
        case "principal":
            return Principal(width, **_principal(encoder, layout))
    return nn.Identity()


def _principal(encoder: EncoderSettings, layout: LayoutSpec) -> dict[str, int]:
    """The settings of `Principal`; of a row with several layers, the last layer's features are kept as they are."""
    return {"components": encoder.components, "keep": layout.sections[-1] if len(layout.sections) > 1 else 0}


def captioned(record: Record) -> bool:
    return bool(record.captions)


def labelled(record: Record) -> bool:
    return bool(record.labels)
