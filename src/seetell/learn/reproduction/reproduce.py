"""Train the rows of a published table, keep a record of each, and write what was measured beside what was published.

OUT/runs/ROW.DATASET[.seedN]/         the runs; a finished one is kept, a stopped one is resumed
OUT/rows/TABLE/ROW.DATASET[.seedN].json   the records, all that pages need; elsewhere if told
OUT/TABLE.md, .html, .png             the page, drawn anew from the records each time

Several tables that share a folder share its runs: a row that two of them have is trained once.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from seetell.data import Dataset, ImageFile, Record
from seetell.errors import SeetellError
from seetell.learn.losses import started_above
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.reproduction import untrained
from seetell.learn.reproduction.caption_figures import PREDICTIONS, read_captions, some_captions
from seetell.learn.reproduction.records import Asked, RowRecord, made_by, portable_spec, stem
from seetell.learn.reproduction.table_page import table_records, write_table_page
from seetell.learn.reproduction.tables import FILES, PublishedTable, Row, label
from seetell.learn.tasks.captioning.sheets import write_attention_sheets
from seetell.learn.tasks.tagging.figures import Predictions, summary
from seetell.learn.training.checkpoints import read_json
from seetell.learn.training.loop import State
from seetell.learn.training.run import Run, find_task, open_data, train
from seetell.progress import SILENT, Progress
from seetell.runtime import open_model

START_EPOCHS = 30  # Table 5 of Vilalta: from then on a run is given up …
EQUAL_EPOCHS = 10  # … whose scores have all been equal for so many epochs
HELD_EPOCHS = 10  # after a curriculum it has, if so many epochs of the last phase have not lost what was learned before
RESULT = "result.json"  # in a run's folder: its record
RANKED = 1000  # images that the papers rank; a larger test split is cut into parts of about as many
SEEN = 3  # drawn images whose attention is shown


@dataclass(frozen=True)
class Asking:
    """What all rows of a table are asked for with.

    Args:
        specs: the datasets.
        kind: what they are: `flickr8k`.
        files: what `--with` gave, by name.
        show: images whose attention a page on captions shows.
        root: where features are kept.
    """

    table: PublishedTable
    specs: Sequence[str]
    kind: str
    out: Path
    budget: str = "two-cores"
    settings: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    show: Sequence[Path] = ()
    root: Path | None = None
    progress: Progress = SILENT
    say: Callable[[str], object] = lambda line: None

    def folder(self, row: str, seed: int) -> Path:
        return self.out / "runs" / stem(row, self.kind, seed)

    def recipe(self, row: Row, seed: int) -> Recipe:
        start = [f"training.start_from={self.trained(row.starts_from, seed)}"] if row.starts_from else []
        more = [*row.settings_with(self.files), *start, *self.settings, f"training.seed={seed}"]
        return load_recipe(row.recipe, dataset=self.kind, budget=self.budget, settings=more)

    def trained(self, row: str, seed: int) -> Path:
        """The folder of a row that another begins with."""
        folder = self.folder(row, seed)
        if finished(folder) is None:
            raise SeetellError(
                f"{row} has not been trained here, and another row begins with its model",
                where=str(folder),
                remedy=f"Add it: --rows {row},…",
            )
        return folder

    def asked(self, row: Row) -> Asked:
        """The command line, as a record keeps it."""
        return Asked(tuple(map(portable_spec, self.specs)), self.budget, tuple(self.settings), row.needs)


def reproduce(
    table: PublishedTable,
    specs: Sequence[str],
    out: Path,
    *,
    dataset: str = "",
    rows: Sequence[str] = (),
    budget: str = "two-cores",
    settings: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    show: Sequence[Path] = (),
    seeds: int = 0,
    records: Path | None = None,
    root: Path | None = None,
    progress: Progress = SILENT,
    say: Callable[[str], object] = lambda line: None,
) -> Path:
    """Train the rows asked for (or all that can be) that have not been trained, and write the page of all that have.

    Args:
        dataset: what the data is where `specs` do not say it: COCO's images in a table of one's own are `coco`.
        files: what rows need that pip does not install, by the names of `FILES`.
        show: images that a page on captions shows with each attending row's attention.
        records: where the records are kept; beside the page unless told.
    """
    kind = dataset or specs[0].partition(":")[0]
    records = records or out / "rows"
    asking = Asking(table, specs, kind, out, budget, settings, files or {}, show, root, progress, say)
    for row in _chosen(asking, rows):
        for seed in range(1, (seeds or table.seeds) + 1):
            record = finished(asking.folder(row.name, seed)) or run_row(asking, row, seed)
            replace(record, table=table.name).write(records / table.name)
    _attention_sheets(asking)
    return write_table_page(table, table_records(table, records), records, out)


def finished(folder: Path) -> RowRecord | None:
    """The record of a finished run; a result that an older version wrote is none."""
    path = folder / RESULT
    if not path.exists() or "format" not in read_json(path):
        return None
    return RowRecord.read(path)


def run_row(asking: Asking, row: Row, seed: int) -> RowRecord:
    """Train and test a row, and keep its record in its run's folder."""
    folder = asking.folder(row.name, seed)
    asking.say(f"{label(row)}, seed {seed}: {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {"predictions": folder / PREDICTIONS}
    root, progress = asking.root, asking.progress
    if row.untrained == "template":
        with open_model() as model:
            result = untrained.template(model, asking.specs, options, progress=progress)
        record = _record(asking, row, seed, load_recipe("best-tags", dataset="coco"), result, {})
    elif row.untrained:
        recipe = load_recipe("merge", dataset=asking.kind, budget=asking.budget, settings=asking.settings)
        result = untrained.consensus(recipe, asking.specs, options, root=root, progress=progress)
        record = _record(asking, row, seed, recipe, result, {})
    else:
        run = _tested_again(asking, row, seed) if row.tests else _trained(asking, row, seed, folder)
        training_data = run.training_data(asking.specs, "test", root=root, progress=progress)
        if run.recipe.task == "retrieval":
            options["folds"] = max(1, round(len(training_data.dataset.split("test")) / RANKED))
        result = find_task(run.recipe.task).evaluate(run, training_data, "test", options)
        record = _record(asking, row, seed, run.recipe, result, read_json(run.path / "run.json"), run.history())
    record.write(folder).replace(folder / RESULT)
    return record


def _trained(asking: Asking, row: Row, seed: int, folder: Path) -> Run:
    recipe = asking.recipe(row, seed)
    return train(
        recipe,
        asking.specs,
        folder,
        resume=(folder / "run.json").exists(),
        root=asking.root,
        progress=asking.progress,
        say=asking.say,
        stop=_until_started(recipe) if asking.table.stop_when_started else (lambda state: False),
    )


def _tested_again(asking: Asking, row: Row, seed: int) -> Run:
    run = Run.open(asking.trained(row.tests, seed))
    return replace(run, recipe=run.recipe.with_settings(decoding=row.decoding, model=row.model))


def _record(
    asking: Asking,
    row: Row,
    seed: int,
    recipe: Recipe,
    result: Mapping[str, Any],
    described: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]] = (),
) -> RowRecord:
    """Everything that is known of a finished row.

    Args:
        described: the `run.json` of the run whose model was tested.
    """
    settings = {key: value for key, value in recipe.to_json().items() if key not in ("published", "tune", "about")}
    if row.starts_from:
        settings["training"]["start_from"] = row.starts_from
    encoder = {key: settings["encoder"][key] for key in ("name", "layout", "crops", "view", "size")}
    fingerprint = described.get("encoder_fingerprint") or result["encoder_fingerprint"]
    metrics = {**result["metrics"], **(_started(history, recipe) if recipe.task == "retrieval" else {})}
    trained = () if row.tests else history
    return RowRecord(
        table=asking.table.name,
        row=row.name,
        dataset=asking.kind,
        seed=seed,
        recipe=recipe.name,
        task=recipe.task if not row.untrained else "captioning",
        asked=asking.asked(row),
        data=_data(open_data(asking.specs)),
        encoder={**encoder, "fingerprint": fingerprint},
        settings=settings,
        made_by={**made_by(), "threads": torch.get_num_threads()},
        parameters=0 if row.untrained else described["parameters"],
        images=result["images"],
        protocol=result["protocol"],
        metrics=metrics,
        seconds=round(sum(epoch["seconds"] for epoch in trained), 1),
        history=trained,
        seconds_telling=result.get("seconds_telling", 0.0),
        notes=result.get("notes", ()),
        figures=_figures(asking, row, seed),
    )


def _data(dataset: Dataset) -> dict[str, Any]:
    """What a dataset is: images a split, and a fingerprint of their names, captions and labels."""
    hashed, splits = hashlib.sha256(), dict[str, int]()
    for record in sorted(dataset.records, key=lambda record: record.key):
        known = [record.key, record.split, list(record.captions), list(record.labels)]
        hashed.update(json.dumps(known, ensure_ascii=True).encode("ascii"))
        splits[record.split] = splits.get(record.split, 0) + 1
    return {"fingerprint": hashed.hexdigest()[:16], "splits": dict(sorted(splits.items()))}


def _figures(asking: Asking, row: Row, seed: int) -> dict[str, Any]:
    """What pages show of a row beside its figures: examples; of label sequences, their analysis."""
    path = asking.folder(row.name, seed) / PREDICTIONS
    if row.part or seed > 1 or not path.exists():
        return {}
    if asking.table.figures == "captions":
        return {"captions": some_captions(read_captions(path))}
    predictions = Predictions.read(path)
    return {"tags": summary(predictions.analysis(), predictions)}


def _telling(history: Sequence[Mapping[str, Any]], recipe: Recipe) -> Sequence[Mapping[str, Any]]:
    """Epochs that tell whether training starts: the last phase's, but after a curriculum not its first ones, which
    still show what the phases before had learned."""
    last = [epoch for epoch in history if epoch["phase"] == len(recipe.phases)]
    return last[HELD_EPOCHS - 1 :] if len(recipe.phases) > 1 else last


def _started(history: Sequence[Mapping[str, Any]], recipe: Recipe) -> dict[str, float]:
    """Whether an epoch that tells scored above the threshold, and the first that did."""
    above = (epoch["epoch"] for epoch in _telling(history, recipe) if epoch["score"] > started_above(1000, 5000))
    first = next(above, None)
    return {"started": float(first is not None), **({"started_in": float(first)} if first is not None else {})}


def _until_started(recipe: Recipe) -> Callable[[State], bool]:
    """Stop at the first step after an epoch that tells scored above the threshold, or once there is nothing to learn
    from: scores that are all equal have a sum of recalls of 0, and order embeddings no gradient."""

    def stop(state: State) -> bool:
        scores = [epoch["score"] for epoch in _telling(state.history, recipe)]
        started = bool(scores) and scores[-1] > started_above(1000, 5000)
        return started or (len(scores) >= START_EPOCHS and not any(scores[-EQUAL_EPOCHS:]))

    return stop


def _chosen(asking: Asking, names: Sequence[str]) -> list[Row]:
    """The rows asked for by name or label; without, all that can be run with what was given."""
    table = asking.table
    runnable = [row for row in table.rows if row.runs]
    if names:
        known = {word.lower(): row for row in reversed(runnable) for word in (label(row), row.name)}
        wrong = [name for name in names if name.lower() not in known]
        if wrong:
            raise SeetellError(
                f"{table.name} has no row {wrong[0]!r}",
                remedy=f"Its rows: {', '.join(row.name for row in runnable)}",
            )
        chosen = [known[name.lower()] for name in names]
        for row in chosen:
            if missing := [name for name in row.needs if name not in asking.files]:
                raise SeetellError(
                    f"the row {row.name} needs {FILES[missing[0]]}", remedy=f"Name the file: --with {missing[0]}=FILE"
                )
        return chosen
    for row in runnable:
        if missing := [name for name in row.needs if name not in asking.files]:
            asking.say(f"left out: {label(row)}, which needs {FILES[missing[0]]} (--with {missing[0]}=FILE)")
    return [row for row in runnable if all(name in asking.files for name in row.needs)]


def _attention_sheets(asking: Asking) -> None:
    """Where the words were looked for, of the images asked for or of drawn ones: a dataset's are not ours to show."""
    if asking.table.figures != "captions":
        return
    if asking.show:
        shown = Dataset("shown", tuple(Record(path.name, ImageFile(path), split="test") for path in asking.show))
    elif all(spec.startswith("scenes") for spec in asking.specs):
        drawn = open_data(asking.specs)
        shown = replace(drawn, records=tuple(drawn.split("test")[:SEEN]))
    else:
        return
    folders = {label(row): asking.folder(row.name, 1) for row in asking.table.rows if not row.part}
    runs = {
        name: Run.open(folder)
        for name, folder in folders.items()
        if (record := finished(folder)) is not None and record.settings["model"].get("kind") == "attend"
    }
    records: list[Record] = []
    seen = {}
    for name, run in runs.items():
        training_data = run.training_data(shown, "test", root=asking.root, progress=SILENT)
        records, images = training_data.split("test", lambda record: True)
        seen[name] = (run, images)
    write_attention_sheets(seen, records, range(len(records)), asking.out, prefix=f"{asking.table.name}-")


def given_files(pairs: Sequence[str]) -> dict[str, str]:
    """What `--with NAME=FILE` says."""
    files = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not equals or name not in FILES:
            known = "; ".join(f"{key}=FILE ({about})" for key, about in FILES.items())
            raise SeetellError(f"--with {pair} is not known", remedy=f"Choose of: {known}")
        if not Path(file).expanduser().exists():
            raise SeetellError("there is no such file", where=file, remedy=f"It is to be {FILES[name]}")
        files[name] = str(Path(file).expanduser())
    return files
