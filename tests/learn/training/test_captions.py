"""Captioning runs from end to end, on a few scenes and an untrained network: small, but every part is real."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from seetell.cli import app
from seetell.errors import SeetellError
from seetell.evaluation import EvaluationOptions
from seetell.learn.recipes import Recipe, RecipeError, load_recipe
from seetell.learn.tasks import TASKS
from seetell.learn.tasks.captioning.data import CaptionedImages
from seetell.learn.tasks.captioning.task import CaptionTask
from seetell.learn.training import checkpoints
from seetell.learn.training.batching import Sequences
from seetell.learn.training.evaluate import evaluate
from seetell.learn.training.run import Run
from seetell.learn.training.train import train
from seetell.text import Vocabulary, ptb

DATA = ["scenes:40"]
SIZES = {
    "attend": ["model.units=16", "model.word_dimensions=12", "model.attention_dimensions=8"],
    "convolutional": ["model.width=16", "model.word_dimensions=12"],
    "merge": ["model.units=16", "encoder.components=16"],
    "initial": ["model.units=16", "model.word_dimensions=12", "encoder.components=16"],
}


def small(name: str, *more: str) -> Recipe:
    settings = [
        "encoder.name=test_efficientnet@random",
        "phases.epochs=2",
        "phases.learning_rate=0.003",
        "decoding.validation_images=3",
        "decoding.maximum_length=8",
        *SIZES[name.split("-")[0]],
        *more,
    ]
    return load_recipe(name, dataset="scenes", settings=settings)


def without_time(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in history]


@pytest.fixture(scope="module")
def soft(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(small("attend-soft"), DATA, tmp_path_factory.mktemp("runs") / "soft", device="cpu")


@pytest.mark.parametrize("name", ["attend-soft", "attend-hard", "convolutional", "attend-soft-self-critical"])
def test_stopped_and_resumed_it_is_bit_equal(
    name: str, soft: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [f"training.start_from='{soft.path.as_posix()}'"] if name.endswith("self-critical") else []
    recipe = small(name, *more)
    whole = train(recipe, DATA, tmp_path / "whole", device="cpu")
    monkeypatch.setattr("seetell.learn.training.loop.SAVE_EVERY", -1.0)  # after every step
    taken = iter(range(1000))
    train(recipe, DATA, tmp_path / "cut", device="cpu", stop=lambda state: next(taken) == 3)
    resumed = train(recipe, DATA, tmp_path / "cut", device="cpu", resume=True)
    assert without_time(resumed.history()) == without_time(whole.history())
    for which in ("best", "last"):
        one, other = checkpoints.load(whole.path, which), checkpoints.load(resumed.path, which)
        assert one.model.keys() == other.model.keys()
        assert all(torch.equal(one.model[key], other.model[key]) for key in one.model)


def test_the_best_model_scores_what_was_recorded(soft: Run) -> None:
    result = evaluate(soft, DATA, "val", EvaluationOptions(beam=1, meteor=False))
    assert result.images == 4
    assert result.protocol.startswith("greedy, at most 8 words")
    assert {"bleu4", "bleu4_no_bp", "rouge_l", "cider", "next_word_accuracy", "novel"} <= result.metrics.keys()
    recipe = small("attend-soft", "decoding.validation_images=0")
    task = TASKS["captioning"].setup(_training_data(recipe)).task
    task.model.load_state_dict(soft.model().state_dict())
    task.eval()
    metrics = task.validate().metrics
    assert {name: metrics[name] for name in ("bleu4", "cider")} == {
        name: pytest.approx(result.metrics[name]) for name in ("bleu4", "cider")
    }
    assert metrics["next_word_accuracy"] == result.metrics["next_word_accuracy"]


def _training_data(recipe: Recipe) -> Any:
    from seetell.learn.training.data import TrainingData
    from seetell.learn.training.features import SPLITS, make_features, open_data

    dataset = open_data(DATA)
    return TrainingData(recipe, dataset, make_features(recipe, dataset, SPLITS))


def test_the_length_of_captions_can_be_chosen(soft: Run) -> None:
    def words(length: str) -> float:
        command = ["evaluate", str(soft.path), "--data", DATA[0], "--split", "val", "--length", length, "--json"]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
        report = json.loads(done.output)
        assert report["protocol"].startswith(f"beam 5, length exponent {length}, at most 8 words")
        return float(report["metrics"]["mean_length"])

    assert words("0") <= words("2")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("merge", ["text.minimum_count=2", "text.vectors=''", "phases.epochs=1"]),
        ("initial", []),
        ("attend-soft", ["phases.loss={kind='cross_entropy', smoothing=0.1, sampling=0.3}", "training.captions=one"]),
    ],
)
def test_other_recipes_train(name: str, more: list[str], tmp_path: Path) -> None:
    run = train(small(name, *more), DATA, tmp_path / "run", device="cpu")
    assert all(np.isfinite(record["loss"]) for record in run.history())
    assert run.history()[-1]["loss"] < run.history()[0]["loss"]


def test_self_critical_training_needs_a_start(tmp_path: Path) -> None:
    with pytest.raises(SeetellError, match="start_from"):
        train(small("attend-soft-self-critical"), DATA, tmp_path / "run", device="cpu")


class Numbers:
    """Images whose feature is their own number."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def batch(self, indices: np.ndarray, random: object = None) -> torch.Tensor:
        return torch.from_numpy(indices).float()[:, None]


def task(way: str) -> CaptionTask:
    vocabulary = Vocabulary(["dog", "runs", "cat"])
    captions = Sequences(
        vocabulary.encode(caption.split(), start=True, end=True)
        for caption in ["dog", "dog runs", "dog", "cat", "cat runs runs", "cat runs"]
    )
    data = CaptionedImages(Numbers(3), captions, np.array([0, 0, 1, 1, 1, 2]), [["dog"], ["cat"], ["cat"]])
    recipe = small("initial", f"training.captions={way}", "phases.batch=2")
    return CaptionTask(torch.nn.Identity(), recipe, data, data, vocabulary)  # type: ignore[arg-type]


def planned(way: str) -> tuple[CaptionTask, list[list[int]]]:
    made = task(way)
    return made, [batch.tolist() for batch in made.plan(made.recipe.phases[0], np.random.default_rng(0))]


def test_batches_of_one_length() -> None:
    made, batches = planned("all")
    assert sorted(i for batch in batches for i in batch) == list(range(6))
    lengths = [{int(made.train_data.captions.lengths[i]) for i in batch} for batch in batches]
    assert sum(len(found) == 1 for found in lengths) >= 2


def test_batches_of_mixed_lengths() -> None:
    made, batches = planned("mixed")
    assert sorted(i for batch in batches for i in batch) == list(range(6))
    assert [len(batch) for batch in batches] == [2, 2, 2]
    assert any(len({int(made.train_data.captions.lengths[i]) for i in batch}) > 1 for batch in batches)


def test_batches_of_images_have_all_their_captions() -> None:
    _, batches = planned("images")
    owners = [0, 0, 1, 1, 1, 2]
    assert sorted(i for batch in batches for i in batch) == list(range(6))
    for batch in batches:
        for image in {owners[i] for i in batch}:
            assert sum(owners[i] == image for i in batch) == owners.count(image)


def test_one_caption_an_image() -> None:
    _, batches = planned("one")
    owners = [0, 0, 1, 1, 1, 2]
    assert sorted(owners[i] for batch in batches for i in batch) == [0, 1, 2]


def test_a_batch_has_each_image_once() -> None:
    made = task("all")
    tokens, features, rows, images, _ = made.collate(np.array([5, 1, 0]), np.random.default_rng(0))
    assert images.tolist() == [0, 2]
    assert features.tolist() == [[0.0], [2.0]]
    assert rows.tolist() == [1, 0, 0]
    assert tokens.tolist() == [[1, 6, 5, 2], [1, 4, 5, 2], [1, 4, 2, 0]]


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(RecipeError, match="images"):
        task("twice")
    with pytest.raises(RecipeError, match="beam"):
        small("initial", "decoding.beans=3")


def test_captions_hold_marks_and_references_stay_as_written() -> None:
    from seetell.data import ImageFile, Record

    record = Record("a", ImageFile(Path("a.jpg")), captions=("A dog, runs!", "Zebras"))
    data = CaptionedImages.of([record], Numbers(1), ptb, Vocabulary(["a", "dog", "runs"]), cut=2)
    assert data.captions[0].tolist() == [1, 4, 5, 2]
    assert data.captions[1].tolist() == [1, 3, 2]
    assert data.references == [("A dog, runs!", "Zebras")]
