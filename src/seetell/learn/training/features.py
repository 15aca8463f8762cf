"""Datasets by address, and the features of their images that a recipe reads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seetell.data import Dataset, Record, open_dataset, union
from seetell.errors import did_you_mean
from seetell.images import Preparation
from seetell.images.preparation import Crops
from seetell.learn.encoders import Encoder, FeatureStore, LayoutSpec, encode_dataset
from seetell.learn.recipes import DATASETS, Recipe, RecipeError
from seetell.progress import SILENT, Progress

SPLITS = ("train", "val")  # what training reads; the test split is for `evaluate`


def open_data(addresses: Sequence[str]) -> Dataset:
    """One dataset, or the union of several."""
    datasets = [open_dataset(address) for address in addresses]
    return datasets[0] if len(datasets) == 1 else union(datasets)


def dataset_kind(addresses: Sequence[str], given: str | None = None) -> str:
    """The kind of dataset whose `[dataset.<kind>]` settings apply.

    Args:
        addresses: datasets as `open_dataset` takes them; of several, the first that is not a plain table counts.
        given: the kind, if the addresses do not show it: COCO's images in a table are `coco`.

    Example:
        >>> dataset_kind(["table:mine.csv", "coco:/data/coco"])
        'coco'
        >>> dataset_kind(["table:coco.csv"], "coco")
        'coco'
    """
    if given is not None:
        if given not in DATASETS:
            raise RecipeError(f"there is no dataset {given!r}", where="--dataset", remedy=did_you_mean(given, DATASETS))
        return given
    kinds = [address.partition(":")[0] for address in addresses]
    return next((kind for kind in kinds if kind != "table"), "table")


@dataclass(frozen=True)
class Features:
    """Stored features of a dataset's images.

    Args:
        rows: the store's row of each record, by key; records whose image cannot be read are missing.
        mirrored: features of the training images' mirror images.
    """

    store: FeatureStore
    rows: dict[str, int]
    mirrored: "Features | None" = None

    @property
    def layout(self) -> LayoutSpec:
        return self.store.spec.layout

    @property
    def preparation(self) -> Preparation:
        return self.store.spec.preparation


def make_features(
    recipe: Recipe,
    dataset: Dataset,
    splits: Sequence[str],
    *,
    store: Path | None = None,
    progress: Progress = SILENT,
) -> Features:
    """The features that a recipe reads, for some splits of a dataset; images that are not in the store are encoded.

    Args:
        store: the folder of feature stores; None: the default.
    """
    settings = recipe.encoder
    encoder = Encoder.load(settings.name)
    records = [record for record in dataset.records if record.split in splits]
    crops: Crops = "ten" if settings.crops == 10 else "centre"
    preparation = encoder.preparation(crops, view=settings.view, size=settings.size)

    def stored(records: Sequence[Record], mirrored: bool) -> Features:
        report = encode_dataset(
            records,
            encoder,
            [settings.layout],
            root=store,
            preparation=preparation,
            mirrored=mirrored,
            progress=progress,
        )
        for image in () if mirrored else report.unreadable:
            progress.message(f"skipped: {image}")
        found = report.stores[settings.layout]
        rows = found.rows_for(records)
        return Features(found, {record.key: int(row) for record, row in zip(records, rows, strict=True) if row >= 0})

    features = stored(records, mirrored=False)
    if not settings.mirror or settings.live or "train" not in splits:
        return features
    return replace(features, mirrored=stored([record for record in records if record.split == "train"], mirrored=True))
