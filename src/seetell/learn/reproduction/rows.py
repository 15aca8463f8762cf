"""Train and test one row of a table, and make its record."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from msgspec import structs

from seetell.data import Dataset
from seetell.errors import SeetellError
from seetell.evaluation import EvaluationOptions
from seetell.learn.losses import started_above
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.reproduction import baseline_rows
from seetell.learn.reproduction.pages.captions import example_captions
from seetell.learn.reproduction.portable import portable_spec
from seetell.learn.reproduction.records import FORMAT, Request, RowRecord, software, stem
from seetell.learn.reproduction.tables import PublishedTable, Row, label
from seetell.learn.tasks.captioning.predictions import (
    PREDICTIONS,
    CaptionPrediction,
    read_predictions,
    write_predictions,
)
from seetell.learn.tasks.tagging.figures import Predictions, summary
from seetell.learn.training.checkpoints import read_json
from seetell.learn.training.evaluate import evaluate
from seetell.learn.training.features import dataset_kind, open_data
from seetell.learn.training.loop import State
from seetell.learn.training.run import Run
from seetell.learn.training.task import Evaluation
from seetell.learn.training.train import train
from seetell.progress import SILENT, Progress
from seetell.runtime import open_model

RESULT = "result.json"  # in a run's folder: its record
RANKED = 1000  # images that the papers rank; a larger test split is divided into folds of about this size
START_EPOCHS = 30  # Table 5 of Vilalta: after so many epochs a run is stopped …
EQUAL_EPOCHS = 10  # … if all its scores have been equal for so many epochs
HELD_EPOCHS = 10  # after a curriculum, training counts as started if it holds for so many epochs of the last phase


@dataclass(frozen=True)
class Reproduction:
    """A request to reproduce rows of a table.

    Args:
        data: the addresses of the datasets.
        dataset: the name of the data, if its address does not show it: `coco` for COCO's images in a table.
        files: files that rows need and pip does not install, by the names of `FILES`.
        show: images whose attention a page on captions shows.
        store: the folder of feature stores.
    """

    table: PublishedTable
    data: Sequence[str]
    out: Path
    dataset: str = ""
    budget: str = "two-cores"
    settings: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    show: Sequence[Path] = ()
    store: Path | None = None
    progress: Progress = SILENT

    @property
    def kind(self) -> str:
        """The name of the dataset: `flickr8k`."""
        return dataset_kind(self.data, self.dataset or None)

    def folder(self, row: str, seed: int) -> Path:
        """The folder of a run."""
        return self.out / "runs" / stem(row, self.kind, seed)

    def missing_files(self, row: Row) -> list[str]:
        """The names of the files that a row needs and were not given."""
        return [name for name in row.needs if name not in self.files]

    def recipe(self, row: Row, seed: int) -> Recipe:
        """A row's recipe with all settings."""
        start = [f"training.start_from={self.trained(row.starts_from, seed)}"] if row.starts_from else []
        settings = [*row.settings_with(self.files), *start, *self.settings, f"training.seed={seed}"]
        return load_recipe(row.recipe, dataset=self.kind, budget=self.budget, settings=settings)

    def trained(self, row: str, seed: int) -> Path:
        """The folder of a finished run that another row needs."""
        folder = self.folder(row, seed)
        if finished(folder) is None:
            raise SeetellError(
                f"{row} has not been trained here, and another row needs its model",
                where=str(folder),
                remedy=f"Add it: --rows {row},…",
            )
        return folder

    def recorded(self, row: Row) -> Request:
        """The request as a record keeps it: without paths."""
        return Request(tuple(map(portable_spec, self.data)), self.budget, tuple(self.settings), row.needs)


def finished(folder: Path) -> RowRecord | None:
    """The record of a finished run; None if it is not finished, or another version wrote it."""
    path = folder / RESULT
    if not path.exists() or read_json(path).get("format") != FORMAT:
        return None
    return RowRecord.read(path)


def run_row(request: Reproduction, row: Row, seed: int) -> RowRecord:
    """Train and test a row, and keep its record in the folder of its run."""
    folder = request.folder(row.name, seed)
    request.progress.message(f"{label(row)}, seed {seed}: {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    record = _baseline(request, row, seed, folder) if row.untrained else _model(request, row, seed, folder)
    record.write(folder).replace(folder / RESULT)
    return record


def _baseline(request: Reproduction, row: Row, seed: int, folder: Path) -> RowRecord:
    if row.untrained == "template":
        recipe = load_recipe("best-tags", dataset="coco")
        with open_model() as model:
            result, fingerprint = baseline_rows.template(model, request.data, progress=request.progress)
    else:
        recipe = load_recipe("merge", dataset=request.kind, budget=request.budget, settings=request.settings)
        result, fingerprint = baseline_rows.consensus(
            recipe, request.data, store=request.store, progress=request.progress
        )
    _write_predictions(result, "captioning", folder)
    return _record(request, row, seed, recipe, result, {"encoder_fingerprint": fingerprint})


def _model(request: Reproduction, row: Row, seed: int, folder: Path) -> RowRecord:
    run = _tested_run(request, row, seed) if row.tests else _trained_run(request, row, seed, folder)
    dataset = open_data(request.data)
    folds = max(1, round(len(dataset.split("test")) / RANKED)) if run.recipe.task == "retrieval" else 1
    options = EvaluationOptions(folds=folds)
    result = evaluate(run, dataset, "test", options, store=request.store, progress=request.progress)
    _write_predictions(result, run.recipe.task, folder)
    return _record(request, row, seed, run.recipe, result, read_json(run.path / "run.json"), run.history())


def _trained_run(request: Reproduction, row: Row, seed: int, folder: Path) -> Run:
    recipe = request.recipe(row, seed)
    return train(
        recipe,
        request.data,
        folder,
        resume=(folder / "run.json").exists(),
        store=request.store,
        progress=request.progress,
        stop=_until_started(recipe) if request.table.stop_when_started else (lambda state: False),
    )


def _tested_run(request: Reproduction, row: Row, seed: int) -> Run:
    """The run of another row, with this row's decoding and model settings."""
    run = Run.open(request.trained(row.tests, seed))
    return replace(run, recipe=with_test_settings(run.recipe, row))


def with_test_settings(recipe: Recipe, row: Row) -> Recipe:
    """A trained recipe with the decoding and model settings of a row that tests it.

    The model need not fit the loss any more: hard attention may be decoded as soft attention, but not trained so.
    """
    recipe = recipe.with_settings(decoding=row.decoding)
    return structs.replace(recipe, model=structs.replace(recipe.model, **row.model))


def _write_predictions(result: Evaluation, task: str, folder: Path) -> None:
    """Keep the predictions of a test in the run's folder, for examples and plots."""
    if task == "captioning":
        write_predictions(folder / PREDICTIONS, [CaptionPrediction.of(each) for each in result.predictions])
    elif task == "tagging":
        Predictions.of(result.predictions).write(folder / PREDICTIONS)


def _record(
    request: Reproduction,
    row: Row,
    seed: int,
    recipe: Recipe,
    result: Evaluation,
    described: Mapping[str, Any],
    history: Sequence[Any] = (),
) -> RowRecord:
    """The record of a finished row.

    Args:
        described: the `run.json` of the run whose model was tested; of a baseline the encoder's fingerprint alone.
    """
    settings = {key: value for key, value in recipe.to_json().items() if key not in ("published", "tune", "about")}
    if row.starts_from:
        settings["training"]["start_from"] = row.starts_from
    encoder = {key: settings["encoder"][key] for key in ("name", "layout", "crops", "view", "size")}
    fingerprint = described["encoder_fingerprint"]
    metrics = {**result.metrics, **(_started(history, recipe) if recipe.task == "retrieval" else {})}
    trained = [] if row.tests else list(history)
    return RowRecord(
        table=request.table.name,
        row=row.name,
        dataset=request.kind,
        seed=seed,
        recipe=recipe.name,
        task=recipe.task if not row.untrained else "captioning",
        request=request.recorded(row),
        data=_fingerprint(open_data(request.data)),
        encoder={**encoder, "fingerprint": fingerprint},
        settings=settings,
        software={**software(), "threads": torch.get_num_threads()},
        parameters=0 if row.untrained else described["parameters"],
        images=result.images,
        protocol=result.protocol,
        metrics=metrics,
        seconds=round(sum(epoch["seconds"] for epoch in trained), 1),
        seconds_decoding=round(result.seconds or 0.0, 4),
        notes=list(result.notes),
        figures=_figures(request, row, seed),
        history=trained,
    )


def _fingerprint(dataset: Dataset) -> dict[str, Any]:
    """The number of images of each split, and a fingerprint of their names, captions and labels."""
    hashed, splits = hashlib.sha256(), dict[str, int]()
    for record in sorted(dataset.records, key=lambda record: record.key):
        known = [record.key, record.split, list(record.captions), list(record.labels)]
        hashed.update(json.dumps(known, ensure_ascii=True).encode("ascii"))
        splits[record.split] = splits.get(record.split, 0) + 1
    return {"fingerprint": hashed.hexdigest()[:16], "splits": dict(sorted(splits.items()))}


def _figures(request: Reproduction, row: Row, seed: int) -> dict[str, Any]:
    """The data of examples and plots: captions, or the analysis of label sequences."""
    path = request.folder(row.name, seed) / PREDICTIONS
    if row.part or seed > 1 or not path.exists():
        return {}
    if request.table.figures == "captions":
        return {"captions": example_captions(read_predictions(path))}
    predictions = Predictions.read(path)
    return {"tags": summary(predictions.analysis(), predictions)}


def _decisive_epochs(history: Sequence[Mapping[str, Any]], recipe: Recipe) -> Sequence[Mapping[str, Any]]:
    """The epochs that decide whether training has started.

    Those of the last phase; after a curriculum without its first ones, which still show what was learned before.
    """
    last = [epoch for epoch in history if epoch["phase"] == len(recipe.phases)]
    return last[HELD_EPOCHS - 1 :] if len(recipe.phases) > 1 else last


def _started(history: Sequence[Mapping[str, Any]], recipe: Recipe) -> dict[str, float]:
    """Whether a decisive epoch scored above the threshold, and the first one that did."""
    epochs = _decisive_epochs(history, recipe)
    first = next((epoch["epoch"] for epoch in epochs if epoch["score"] > started_above(1000, 5000)), None)
    return {"started": float(first is not None), **({"started_in": float(first)} if first is not None else {})}


def _until_started(recipe: Recipe) -> Callable[[State], bool]:
    """Stop once training has started, or once it cannot: equal scores have a sum of recalls of 0 and no gradient."""

    def stop(state: State) -> bool:
        scores = [epoch["score"] for epoch in _decisive_epochs(state.history, recipe)]
        started = bool(scores) and scores[-1] > started_above(1000, 5000)
        return started or (len(scores) >= START_EPOCHS and not any(scores[-EQUAL_EPOCHS:]))

    return stop
