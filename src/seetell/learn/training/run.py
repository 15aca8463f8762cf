"""A run: from a recipe and datasets to a folder with a trained model, and from such a folder back to the model."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning_fabric import Fabric
from torch import nn

from seetell import __version__
from seetell.data import Dataset, Record, open_dataset, union
from seetell.errors import SeetellError
from seetell.images import Preparation
from seetell.images.preparation import Crops
from seetell.learn.encoders import Encoder, LayoutSpec, encode_dataset
from seetell.learn.files import write_text
from seetell.learn.models import build
from seetell.learn.recipes import Recipe
from seetell.learn.tasks.base import Task
from seetell.learn.training import checkpoints, curves
from seetell.learn.training.checkpoints import CheckpointError, read_json, write_json
from seetell.learn.training.data import Features, TrainingData, empty_transform
from seetell.learn.training.loop import Loop, State
from seetell.learn.training.warm_start import WarmStart, rows_by_word
from seetell.progress import SILENT, Progress
from seetell.text import Vocabulary

FORMAT = 1
SPLITS = ("train", "val")  # what training reads; the test split is for `evaluate`


@dataclass(frozen=True)
class Setup:
    """What a family makes of the training_data: the task, and what its model must be told to be built again.

    Args:
        given: JSON values that `build` takes beside the recipe's settings: sizes of vocabulary and word vectors.
    """

    task: Task
    vocabulary: Vocabulary | None
    given: Mapping[str, Any]


class TaskKind(Protocol):
    """One family of tasks: retrieval, captions or tags; a module of this package."""

    def setup(self, training_data: TrainingData) -> Setup: ...

    def evaluate(
        self, run: "Run", training_data: TrainingData, split: str, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The metrics of a run's best model on a split, and by which protocol: {"metrics", "protocol", "images"}."""
        ...


def find_task(name: str) -> TaskKind:
    import importlib

    module: Any = importlib.import_module(f"seetell.learn.tasks.{name}.task")
    found: TaskKind = module
    return found


@dataclass(frozen=True)
class Run:
    """A run's folder, opened."""

    path: Path
    recipe: Recipe
    data: tuple[str, ...]
    encoder_fingerprint: str
    preparation: Preparation
    layout: LayoutSpec
    vocabulary: Vocabulary | None
    given: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> "Run":
        content = read_json(path / "run.json")
        if content.get("format") != FORMAT:
            raise CheckpointError("this run was written by another version of seetell", where=str(path / "run.json"))
        words = path / "vocabulary.txt"
        layout = content["layout"]
        return cls(
            path,
            Recipe.from_json(content["recipe"], where=str(path / "run.json")),
            tuple(content["data"]),
            content["encoder_fingerprint"],
            Preparation.from_json(content["preparation"], where=str(path / "run.json")),
            LayoutSpec(layout["layout"], tuple(layout["shape"]), tuple(layout["sections"]), tuple(layout["names"])),
            Vocabulary.load(words) if words.exists() else None,
            content["given"],
        )

    def model(self, which: str = "best") -> nn.Module:
        """The model with the weights of a checkpoint, ready to be used."""
        model = build_model(self.recipe, self.layout, self.given)
        weights = checkpoints.model_weights(self.path, which)
        try:
            model.load_state_dict(weights)
        except RuntimeError:
            raise CheckpointError(
                f"its weights are not those of the model {self.recipe.model.get('kind')!r} of this version",
                where=str(self.path),
                remedy="Use the version of seetell that trained it, or train it again",
            ) from None
        return model.eval()

    @property
    def finished(self) -> bool:
        """Whether every phase was trained to its end."""
        progress, last = checkpoints.state(self.path, "last")["progress"], self.recipe.phases[-1]
        over = progress["epoch"] >= last.epochs or (last.patience and progress["since_best"] >= last.patience)
        return progress["phase"] == len(self.recipe.phases) - 1 and bool(over)

    def history(self) -> list[dict[str, Any]]:
        history: list[dict[str, Any]] = checkpoints.state(self.path, "last")["progress"]["history"]
        return history

    def training_data(
        self, data: Sequence[str] | Dataset, split: str, *, root: Path | None, progress: Progress
    ) -> TrainingData:
        """Another dataset's split, with features of the encoder that this run was trained with."""
        dataset = data if isinstance(data, Dataset) else open_data(data)
        features = make_features(self.recipe, dataset, (split,), root=root, progress=progress)
        if features.store.spec.encoder_fingerprint != self.encoder_fingerprint:
            raise SeetellError(
                f"the encoder {self.recipe.encoder.name} has other weights than this run was trained with",
                where=str(self.path),
                remedy="Give the weights it was trained with, or train again",
            )
        return TrainingData(self.recipe, dataset, features)


def build_model(recipe: Recipe, layout: LayoutSpec, given: Mapping[str, Any], **more: Any) -> nn.Module:
    """The recipe's model for features of a layout; `more` is what only training knows (a fitted transform, vectors)."""
    if "transform" not in more:
        more["transform"] = empty_transform(recipe.encoder, layout)
    values: dict[str, Any] = {
        "features": getattr(more["transform"], "width", layout.shape[-1]),  # a transform may change their number
        "sections": layout.sections,
        **({"levels": layout.levels} if layout.levels else {}),
        **{key: value for key, value in given.items() if key != "vector_dimensions"},
    }
    if "vector_dimensions" in given:  # room for word vectors; a checkpoint fills it
        values["vectors"] = torch.zeros(given["words"], given["vector_dimensions"])
    return build(recipe.model, **{**values, **more})


def open_data(specs: Sequence[str]) -> Dataset:
    """One dataset, or the union of several."""
    datasets = [open_dataset(spec) for spec in specs]
    return datasets[0] if len(datasets) == 1 else union(datasets)


def make_features(
    recipe: Recipe,
    dataset: Dataset,
    splits: Sequence[str],
    *,
    root: Path | None = None,
    progress: Progress = SILENT,
    say: Callable[[str], object] = lambda line: None,
) -> Features:
    """The features a recipe reads, for some splits of a dataset; made where the store does not have them."""
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
            root=root,
            preparation=preparation,
            mirrored=mirrored,
            progress=progress,
            say=say,
        )
        for image in () if mirrored else report.unreadable:
            say(f"left out: {image}")
        store = report.stores[settings.layout]
        rows = store.rows_for(records)
        return Features(store, {record.key: int(row) for record, row in zip(records, rows, strict=True) if row >= 0})

    features = stored(records, mirrored=False)
    if not settings.mirror or settings.live or "train" not in splits:
        return features
    return replace(features, mirrored=stored([record for record in records if record.split == "train"], mirrored=True))


def train(
    recipe: Recipe,
    specs: Sequence[str],
    out: Path,
    *,
    resume: bool = False,
    root: Path | None = None,
    accelerator: str = "auto",
    progress: Progress = SILENT,
    say: Callable[[str], object] = lambda line: None,
    stop: Callable[[State], bool] = lambda state: False,
) -> Run:
    """Train a recipe on datasets into a folder; with `resume`, go on where the folder's run was stopped."""
    if (out / "run.json").exists() and not resume:
        raise SeetellError(
            "there is a run here already", where=str(out), remedy="Add --resume, or choose another --out"
        )
    fabric = make_fabric(accelerator, recipe.training.precision)
    if fabric.global_rank > 0:  # one process speaks
        progress, say = SILENT, lambda line: None
    dataset = open_data(specs)
    with fabric.rank_zero_first(local=True):
        features = make_features(recipe, dataset, SPLITS, root=root, progress=progress, say=say)
    torch.manual_seed(recipe.training.seed)
    warm_start = WarmStart.of(recipe)
    setup = find_task(recipe.task).setup(TrainingData(recipe, dataset, features, warm_start, progress))
    if warm_start is not None:
        assert setup.vocabulary is not None
        same = setup.vocabulary.words == warm_start.vocabulary.words
        by_word = [] if same else rows_by_word(build_model, recipe, features.layout, setup.given)
        warm_start.load(setup.task.model, setup.vocabulary, by_word, features.store.spec.encoder_fingerprint, say)
    if fabric.is_global_zero:
        _describe(out, recipe, specs, features, setup, resume)
    board: Callable[..., object] = curves.TensorBoard(out) if fabric.is_global_zero else lambda *_: None
    loop = Loop(setup.task, recipe, out, fabric, progress=progress, say=say, stop=stop)

    def log(record: Mapping[str, Any]) -> None:
        if fabric.is_global_zero:
            history = loop.state.history
            say(_line(record, len(history)))
            board(record, len(history))
            write_history(out, history)
            curves.draw({recipe.name: history}, curves.SHOWN[recipe.task], out / "curves.png", recipe.name)

    loop.log = log
    loop.fit(resume=resume)
    fabric.barrier()
    return Run.open(out)


def make_fabric(accelerator: str, precision: str) -> Fabric:
    """Fabric for this process: alone, or one of several that torchrun started."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    fabric = Fabric(
        accelerator=accelerator if processes == 1 or torch.cuda.is_available() else "cpu",
        devices=processes,
        num_nodes=int(os.environ.get("WORLD_SIZE", "1")) // processes,
        strategy="ddp" if int(os.environ.get("WORLD_SIZE", "1")) > 1 else "auto",
        precision=precision,  # type: ignore[arg-type]
    )
    fabric.launch()
    return fabric


def write_history(run: Path, history: Sequence[Mapping[str, Any]]) -> None:
    import json

    write_text(run / "history.jsonl", "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in history))


def _describe(out: Path, recipe: Recipe, specs: Sequence[str], features: Features, setup: Setup, resume: bool) -> None:
    """Write what the run is; when resuming, refuse to go on with anything else."""
    out.mkdir(parents=True, exist_ok=True)
    layout = features.layout
    content = {
        "format": FORMAT,
        "seetell": __version__,
        "recipe": recipe.to_json(),
        "data": list(specs),
        "encoder_fingerprint": features.store.spec.encoder_fingerprint,
        "preparation": features.preparation.to_json(),
        "layout": {
            "layout": layout.layout,
            "shape": list(layout.shape),
            "sections": list(layout.sections),
            "names": list(layout.names),
        },
        "given": dict(setup.given),
        "parameters": sum(p.numel() for p in setup.task.model.parameters()),
    }
    path = out / "run.json"
    if resume and path.exists():
        import json

        before, now = read_json(path), json.loads(json.dumps(content))
        # A setting that a later version has and this run's did not is as if it had been left alone.
        before["recipe"] = json.loads(json.dumps(Recipe.from_json(before["recipe"], where=str(path)).to_json()))
        differing = [key for key in now if key not in ("seetell", "data") and before.get(key) != now[key]]
        if differing:
            raise SeetellError(
                f"this run was begun with another {differing[0].replace('_', ' ')}",
                where=str(path),
                remedy="Resume it with the settings it was begun with, or choose another --out",
            )
        return
    if setup.vocabulary is not None:
        setup.vocabulary.save(out / "vocabulary.txt")
    write_json(path, content)


def _line(record: Mapping[str, Any], epoch: int) -> str:
    rate = record["samples"] / record["seconds"] if record["seconds"] else 0.0
    mark = " (best)" if record["best"] else ""
    return f"epoch {epoch}: loss {record['loss']:.4g}, validation {record['score']:.2f}{mark}, {rate:.0f} samples/s"
