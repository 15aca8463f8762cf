"""Tagging runs from end to end, on a few scenes and an untrained network: small, but every part is real."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seetell.evaluation import EvaluationOptions
from seetell.learn.recipes import Recipe, RecipeError, load_recipe
from seetell.learn.tasks import TASKS
from seetell.learn.tasks.tagging.task import TagTask
from seetell.learn.training import checkpoints
from seetell.learn.training.data import TrainingData
from seetell.learn.training.evaluate import evaluate
from seetell.learn.training.features import make_features, open_data
from seetell.learn.training.run import Run
from seetell.learn.training.train import train

DATA = ["scenes:40"]
SEQUENCES = ["joint", "joint-attn", "init", "init-attn", "seq2seq", "seq2seq-attn"]
CLASSIFIERS = ["softmax", "warp", "bce", "best-tags"]
LATER = ["encoder.layout=grid:3", "encoder.later_stages=true", "encoder.learning_rate=0.01"]


def small(name: str, *more: str) -> Recipe:
    settings = [
        "encoder.name=test_efficientnet@random",
        "phases.epochs=2",
        "phases.learning_rate=0.003",
        "phases.batch=8",
        "decoding.train_images=6",
        "text.vectors=''",
        *(["model.units=16", "model.label_dimensions=12"] if name in SEQUENCES else []),
        *more,
    ]
    return load_recipe(name, dataset="scenes", settings=settings)


def training_data_of(recipe: Recipe) -> TrainingData:
    dataset = open_data(DATA)
    return TrainingData(recipe, dataset, make_features(recipe, dataset, ("train", "val")))


def task_of(recipe: Recipe) -> TagTask:
    torch.manual_seed(1)
    task = TASKS["tagging"].setup(training_data_of(recipe)).task
    assert isinstance(task, TagTask)
    task.begin(recipe.phases[0])
    return task


def without_time(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in history]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("seq2seq-attn", []),
        ("joint", ["phases.loss.order=random"]),
        ("bce", []),
        ("best-tags", []),
        ("best-tags", LATER),
    ],
)
def test_stopped_and_resumed_it_is_bit_equal(
    name: str, more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = small(name, *more)
    whole = train(recipe, DATA, tmp_path / "whole", device="cpu")
    monkeypatch.setattr("seetell.learn.training.loop.SAVE_EVERY", -1.0)  # after every step
    taken = iter(range(1000))
    train(recipe, DATA, tmp_path / "cut", device="cpu", stop=lambda state: next(taken) == 5)
    resumed = train(recipe, DATA, tmp_path / "cut", device="cpu", resume=True)
    assert without_time(resumed.history()) == without_time(whole.history())
    for which in ("best", "last"):
        one, other = checkpoints.load(whole.path, which), checkpoints.load(resumed.path, which)
        assert one.model.keys() == other.model.keys()
        assert all(torch.equal(one.model[key], other.model[key]) for key in one.model)


@pytest.mark.parametrize("name", ["seq2seq", "init-attn", "softmax", "best-tags"])
def test_the_best_model_scores_what_was_recorded(name: str, tmp_path: Path) -> None:
    run = train(small(name), DATA, tmp_path / "run", device="cpu")
    best = max(run.history(), key=lambda record: record["score"])
    assert best["score"] == best["metrics"]["f1_of_means"]
    assert best["metrics"]["train"].keys() == {"precision", "recall", "f1_of_means"}
    result = evaluate(run, DATA, "val")
    assert result.images == 4
    assert [each.image for each in result.predictions] == [each.key for each in open_data(DATA).split("val")]
    assert result.metrics == pytest.approx({k: v for k, v in best["metrics"].items() if k != "train"})
    if name in SEQUENCES:
        assert result.protocol == "greedy, no label twice"
        beams = evaluate(run, DATA, "val", EvaluationOptions(beam=3, sheet=tmp_path / "sheets"))
        assert (tmp_path / "sheets" / "tags.html").exists()
        assert beams.protocol.startswith("beam 3")
    assert Run.open(run.path).vocabulary == run.vocabulary


@pytest.mark.parametrize("name", [*SEQUENCES, *CLASSIFIERS])
def test_the_loss_falls(name: str) -> None:
    task = task_of(small(name))
    optimiser = torch.optim.Adam(task.parameters(), lr=0.01)
    items = task.plan(task.recipe.phases[0], np.random.default_rng(0))
    assert sorted(np.concatenate(items).tolist()) == list(range(32))
    batch = task.collate(items[0], np.random.default_rng(1))
    losses = []
    for _ in range(30):
        loss, _ = task(batch)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]
    if name in SEQUENCES:  # at first every symbol is about as probable as any other (Ren, section 5.1)
        assert losses[0] == pytest.approx(np.log(len(task.vocabulary)), abs=0.7)


@pytest.mark.parametrize("name", ["best-tags", "init"])
def test_the_network_is_trained_along_with_the_model(name: str, tmp_path: Path) -> None:
    recipe = small(name, "encoder.train=true", "encoder.augment=true", "phases.epochs=1", "encoder.learning_rate=0.01")
    before = task_of(recipe).model.transform.state_dict()
    run = train(recipe, DATA, tmp_path, device="cpu")
    after = run.model().transform.state_dict()
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[key], after[key]) for key in before if "weight" in key)


def test_later_stages_are_trained_with_the_model(tmp_path: Path) -> None:
    recipe = small("best-tags", *LATER)
    before, after = task_of(recipe).model.transform, train(recipe, DATA, tmp_path, device="cpu").model().transform
    trained = [name for name, _ in before.encoder.named_parameters() if name.endswith("weight")]
    assert trained
    for name in trained:
        assert not torch.equal(before.encoder.get_parameter(name), after.encoder.get_parameter(name))


def test_thresholds_are_those_of_the_validation_split_and_travel_with_the_model(tmp_path: Path) -> None:
    run = train(small("best-tags"), DATA, tmp_path, device="cpu")
    thresholds = run.model().thresholds
    assert len(thresholds.unique()) > 1
    top = train(small("bce"), DATA, tmp_path / "top", device="cpu")
    assert not top.model().thresholds.any()


@pytest.mark.parametrize(("name", "loss"), [("bce", "sequence"), ("init", "bce")])
def test_a_loss_for_the_other_kind_of_model_is_refused(name: str, loss: str) -> None:
    with pytest.raises(RecipeError, match="is not trained by"):
        task_of(small(name, f"phases.loss.kind={loss}"))


@pytest.mark.parametrize("setting", ["decoding.choose=best", "decoding.beams=3"])
def test_settings_that_are_not_there_are_refused(setting: str) -> None:
    with pytest.raises(RecipeError):
        task_of(small("bce", setting))


def test_published_figures_are_those_of_the_table() -> None:
    """F1 is that of mean precision and recall, but for rounding (WARP's is 60.6 by its own P and R)."""
    for name in [*SEQUENCES, "softmax", "warp", "bce"]:
        table = load_recipe(name).published["coco"]
        p, r = table["precision"], table["recall"]
        assert table["f1_of_means"] == pytest.approx(2 * p * r / (p + r), abs=0.12), name
