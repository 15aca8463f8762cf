"""Export runs: find sample images, build the bundle, and measure it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seetell.data import Dataset
from seetell.errors import DatasetError
from seetell.evaluation import EvaluationOptions, evaluate_bundle
from seetell.files import AnyPath
from seetell.learn.exporting.build import build_bundle
from seetell.learn.exporting.options import Exported, ExportOptions, Measurement, ModelInfo, Report, Samples
from seetell.learn.exporting.quantize import precision_of
from seetell.learn.exporting.trained import open_runs
from seetell.learn.exporting.words import TYPICAL
from seetell.learn.training.features import open_data
from seetell.learn.training.run import Run
from seetell.progress import SILENT, Progress
from seetell.runtime import Model
from seetell.util import sample_evenly

COMPARED = 16  # images, and as many texts, on which the bundle and the checkpoints must agree
MEASURED = 500  # images on which the effect of quantization is measured, unless chosen otherwise


def export(
    runs: Sequence[Run | AnyPath],
    out: AnyPath,
    *,
    info: ModelInfo | None = None,
    data: Sequence[str] | None = None,
    split: str = "val",
    measure: int | None = None,
    options: ExportOptions = ExportOptions(),  # noqa: B008
    progress: Progress = SILENT,
) -> Exported:
    """Export one run, or several that share an encoder, as one model.

    Args:
        runs: runs or their folders, at most one of each task.
        out: the model's folder.
        info: name and licence; None: named after the folder.
        data: datasets with real images to compare and measure on; None: the runs' own.
        split: which split of it.
        measure: score the model on this many images and record the result; None: only if quantized.
        options: see `ExportOptions`.

    Example:
        >>> exported = export(["runs/tags"], "mine", info=ModelInfo("mine", licence="CC0-1.0"))
        >>> exported.bundle.manifest.kinds
        ('tagger',)
    """
    out = Path(out)
    options.check()
    if options.base is not None and options.quantize is None:  # as the base model's
        options = replace(options, quantize=precision_of(options.base))
    trained = open_runs(runs)
    addresses = list(data or dict.fromkeys(address for each in trained for address in each.data))
    dataset = open_data(addresses)
    info = info or ModelInfo(out.name.lower())
    if not info.training_data:
        info = replace(info, training_data=tuple(addresses))
    measured = measure if measure is not None else MEASURED if options.quantize else None
    return build_bundle(
        trained,
        out,
        info,
        _samples(dataset, split),
        options,
        measurement=_measurement(dataset, addresses, split, measured, progress) if measured else None,
        progress=progress,
    )


def _samples(dataset: Dataset, split: str) -> Samples:
    records = dataset.split(split)
    if not records:
        raise DatasetError(
            f"the split {split!r} is empty",
            where=dataset.name,
            remedy="Choose another with --split; the model is compared with the checkpoints on it",
        )
    some = sample_evenly(records, COMPARED)
    return Samples(
        images=[record.image for record in some],
        texts=[caption for record in some for caption in record.captions[:1]],
        typical=[record.image for record in sample_evenly(dataset.split("train"), TYPICAL)],
    )


def _measurement(
    dataset: Dataset, addresses: Sequence[str], split: str, images: int, progress: Progress
) -> Measurement:
    def score(model: Model) -> Report:
        return evaluate_bundle(model, dataset, split, EvaluationOptions(limit=images, meteor=False), progress=progress)

    return Measurement(score, ", ".join(addresses), split)
