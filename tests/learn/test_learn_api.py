"""The front door of `seetell.learn`: its examples run as they stand, and the kind of a dataset reaches the recipe."""

import doctest
from pathlib import Path

import pytest

import seetell.learn
import seetell.learn.training.features
import seetell.learn.training.run
from seetell.errors import SeetellError
from seetell.learn import ModelInfo, Run, evaluate, load_recipe
from seetell.learn.exporting import runs as exporting
from seetell.learn.training import evaluate as evaluating
from seetell.learn.training import train as training
from seetell.learn.training.features import dataset_kind


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples run, one after another."""
    return tmp_path_factory.mktemp("examples")


def run_examples(module: object, **names: object) -> None:
    globs = {"load_recipe": load_recipe, "ModelInfo": ModelInfo, **names}
    found = doctest.testmod(module, extraglobs=globs)  # type: ignore[arg-type]
    assert found.attempted > 0
    assert found.failed == 0


def test_examples_train_evaluate_and_export(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    run_examples(seetell.learn)  # makes runs/tags, which the next ones use
    run_examples(evaluating)
    run_examples(exporting)
    run_examples(seetell.learn.training.run)
    run_examples(seetell.learn.training.features)
    run = Run.open("runs/tags")
    assert repr(run) == "Run('runs/tags', bce)"
    assert len(evaluate(run, ["scenes:40"], "test").predictions) == 4
    assert "\n" not in repr(evaluate(run, "scenes:40", "val"))


def test_a_table_gets_the_settings_of_the_dataset_it_holds() -> None:
    assert dataset_kind(["table:mine.csv"]) == "table"
    assert dataset_kind(["table:mine.csv", "coco:/data"]) == "coco"
    assert dataset_kind(["flickr8k:/data", "coco:/data"]) == "flickr8k"
    assert dataset_kind(["table:coco.csv"], "coco") == "coco"
    with pytest.raises(SeetellError, match=r"--dataset: there is no dataset 'cocoa'\. Did you mean 'coco'"):
        dataset_kind(["table:coco.csv"], "cocoa")


@pytest.mark.parametrize("command", ["train", "tune"])
def test_the_command_line_passes_the_dataset_on(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """COCO's images in a table get [dataset.coco] with --dataset coco."""
    from typer.testing import CliRunner

    from seetell.cli import app

    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'extends = "bce"\n[tune]\n"phases.batch" = [8, 16]\n[dataset.coco]\n"training.seed" = 77\n', encoding="utf-8"
    )
    seeds: list[int] = []

    class Stopped(Exception):
        pass

    def train(recipe, *_, **__):  # type: ignore[no-untyped-def]
        seeds.append(recipe.training.seed)
        raise Stopped

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr("seetell.learn.training.tune.train", train)
    monkeypatch.setattr(seetell.learn, "train", train)
    more = ["--trials", "1"] if command == "tune" else []
    for dataset in ([], ["--dataset", "coco"]):
        arguments = ["learn", command, str(recipe), "--data", "table:x.csv", "--out", str(tmp_path / "out"), *more]
        done = CliRunner().invoke(app, [*arguments, *dataset])
        assert isinstance(done.exception, Stopped)
    assert seeds == [1, 77]
