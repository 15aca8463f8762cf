"""Train a recipe on datasets into a run's folder."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from seetell.errors import SeetellError
from seetell.files import AnyPath, write_file
from seetell.learn.encoders.devices import find_device
from seetell.learn.recipes import Recipe
from seetell.learn.tasks.registry import TASKS
from seetell.learn.training import curves
from seetell.learn.training.checkpoints import read_json, write_json
from seetell.learn.training.data import TrainingData
from seetell.learn.training.features import SPLITS, Features, make_features, open_data
from seetell.learn.training.loop import Loop, State
from seetell.learn.training.run import Run, build_model, describe
from seetell.learn.training.task import Setup
from seetell.learn.training.warm_start import WarmStart, rows_by_word
from seetell.progress import SILENT, Progress
from seetell.settings import differences, flatten

RESUME = "Resume it with the settings it was started with, or choose another --out"


def train(
    recipe: Recipe,
    data: Sequence[str],
    out: AnyPath,
    *,
    resume: bool = False,
    store: Path | None = None,
    device: str = "auto",
    progress: Progress = SILENT,
    stop: Callable[[State], bool] = lambda state: False,
) -> Run:
    """Train a recipe. All settings are checked before any image is encoded.

    Args:
        recipe: from `load_recipe`.
        data: addresses of datasets, as `open_dataset` takes them; several are trained on together.
        out: the run's folder.
        resume: continue the run in `out` where it was stopped; the result is the same to the last bit.
        store: the folder of feature stores; None: the default.
        device: `auto`, `cpu`, `cuda` or `mps`.
        stop: called after every step; training stops, as if killed, when it returns True.

    Example:
        >>> recipe = load_recipe("bce", dataset="scenes", settings=["phases.epochs=1"])
        >>> run = train(recipe, ["scenes:40"], "runs/tags", device="cpu")  # doctest: +SKIP
    """
    out = Path(out)
    find_device(device)
    TASKS[recipe.task].check(recipe)
    _check_folder(out, recipe, resume)
    warm_start = WarmStart.of(recipe)
    fabric = make_fabric(device, recipe.training.precision)
    if fabric.global_rank > 0:  # one process reports
        progress = SILENT
    dataset = open_data(data)
    with fabric.rank_zero_first(local=True):
        features = make_features(recipe, dataset, SPLITS, store=store, progress=progress)
    torch.manual_seed(recipe.training.seed)
    setup = TASKS[recipe.task].setup(TrainingData(recipe, dataset, features, warm_start, progress))
    if warm_start is not None:
        _load_weights(warm_start, recipe, features, setup, progress)
    if fabric.is_global_zero:
        _write_description(out, describe(recipe, data, features, setup), setup, resume)
    log = RunLog(out, recipe, progress) if fabric.is_global_zero else (lambda history: None)
    Loop(setup.task, recipe, out, fabric, progress=progress, log=log, stop=stop).fit(resume=resume)
    fabric.barrier()
    return Run.open(out)


def make_fabric(device: str, precision: str) -> Fabric:
    """Fabric for this process: alone, or one of several that torchrun started."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    fabric = Fabric(
        accelerator=device if processes == 1 or torch.cuda.is_available() else "cpu",
        devices=processes,
        num_nodes=int(os.environ.get("WORLD_SIZE", "1")) // processes,
        strategy="ddp" if int(os.environ.get("WORLD_SIZE", "1")) > 1 else "auto",
        precision=precision,  # type: ignore[arg-type]
    )
    fabric.launch()
    return fabric


class RunLog:
    """Records every epoch: a message, `history.jsonl`, `curves.png` and TensorBoard's files."""

    def __init__(self, out: Path, recipe: Recipe, progress: Progress) -> None:
        self.out, self.recipe, self.progress = out, recipe, progress
        self.board = curves.TensorBoard(out)

    def __call__(self, history: Sequence[Mapping[str, Any]]) -> None:
        self.progress.message(_line(history[-1], len(history)))
        self.board(history[-1], len(history))
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in history)
        write_file(self.out / "history.jsonl", "".join(lines), sync=True)
        recipe = self.recipe
        curves.draw({recipe.name: history}, curves.SHOWN[recipe.task], self.out / "curves.png", recipe.name)


def _check_folder(out: Path, recipe: Recipe, resume: bool) -> None:
    """Refuse a folder with another run, before anything is encoded."""
    path = out / "run.json"
    if not path.exists():
        return
    if not resume:
        raise SeetellError(
            "there is a run here already", where=str(out), remedy="Add --resume, or choose another --out"
        )
    _refuse(Run.open(out).recipe.changes(recipe), path)


def _refuse(changes: Mapping[str, tuple[Any, Any]], path: Path) -> None:
    """Refuse to resume with a setting changed."""
    for name, values in changes.items():
        old, new = (json.dumps(value, ensure_ascii=False) for value in values)
        raise SeetellError(f"this run was started with {name} = {old}, not {new}", where=str(path), remedy=RESUME)


def _load_weights(warm_start: WarmStart, recipe: Recipe, features: Features, setup: Setup, progress: Progress) -> None:
    assert setup.vocabulary is not None
    same = setup.vocabulary.words == warm_start.vocabulary.words
    by_word = [] if same else rows_by_word(build_model, recipe, features.layout, setup.sizes)
    fingerprint = features.store.spec.encoder_fingerprint
    warm_start.load(setup.task.model, setup.vocabulary, by_word, fingerprint, progress)


def _write_description(out: Path, content: dict[str, Any], setup: Setup, resume: bool) -> None:
    """Write `run.json` and the vocabulary; when resuming, check that they are the same."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "run.json"
    if resume and path.exists():
        ignored = ("seetell", "data", "recipe")  # the recipe was compared before
        before, now = ({k: v for k, v in each.items() if k not in ignored} for each in (read_json(path), content))
        now = json.loads(json.dumps(now))
        _refuse({key: (flatten(before).get(key), flatten(now).get(key)) for key in differences(before, now)}, path)
        return
    if setup.vocabulary is not None:
        setup.vocabulary.save(out / "vocabulary.txt")
    write_json(path, content)


def _line(record: Mapping[str, Any], epoch: int) -> str:
    rate = record["samples"] / record["seconds"] if record["seconds"] else 0.0
    mark = " (best)" if record["best"] else ""
    return f"epoch {epoch}: loss {record['loss']:.4g}, validation {record['score']:.2f}{mark}, {rate:.0f} samples/s"
