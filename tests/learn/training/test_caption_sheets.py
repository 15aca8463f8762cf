"""Sheets of what a captioning run tells, and whether it looks at what it names."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from seetell.cli import app
from seetell.data import open_dataset
from seetell.decoding import Decoded
from seetell.evaluation import EvaluationOptions
from seetell.learn.recipes import load_recipe
from seetell.learn.tasks.captioning.predictions import (
    PREDICTIONS,
    CaptionPrediction,
    read_predictions,
    write_predictions,
)
from seetell.learn.tasks.captioning.sheets import (
    attention_on_objects,
    write_attention_sheets,
)
from seetell.learn.training.data import captioned
from seetell.learn.training.evaluate import evaluate
from seetell.learn.training.run import Run
from seetell.learn.training.train import train

SETTINGS = ["encoder.name=test_efficientnet@random", "phases.epochs=1", "decoding.maximum_length=5", "decoding.beam=2"]


@pytest.fixture(scope="module")
def soft(tmp_path_factory: pytest.TempPathFactory) -> Run:
    recipe = load_recipe("attend-soft", dataset="scenes", settings=SETTINGS)
    return train(recipe, ["scenes:40"], tmp_path_factory.mktemp("runs") / "soft", device="cpu")


def test_sheets_are_written(soft: Run, tmp_path: Path) -> None:
    records, images = soft.encode(["scenes:40"], "test").split("test", captioned)
    one = write_attention_sheets({"soft": (soft, images)}, records, [1, 3], tmp_path / "one")
    two = {"soft": (soft, images), "again": (soft, images)}
    both = write_attention_sheets(two, records, [1, 3], tmp_path / "both")
    assert len(one) == len(both) == 2
    for alone, pair in zip(one, both, strict=True):
        assert Image.open(pair).height > 1.5 * Image.open(alone).height


def test_a_page_of_what_a_run_tells(soft: Run, tmp_path: Path) -> None:
    command = ["evaluate", str(soft.path), "--data", "scenes:40", "--sheet", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.output.endswith(f"Examples: {tmp_path}\n")
    images = {path.name for path in tmp_path.glob("*.png")}
    assert {"best.png", "worst.png", "random.png"} < images
    assert len(images) == 3 + 4  # scenes:40 has four test images
    for page in ("captions.html", "captions.md"):
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert all(name in text for name in images)
        assert "scenes, split test: beam 2" in text


def test_captions_of_a_test_are_kept(soft: Run, tmp_path: Path) -> None:
    result = evaluate(soft, "scenes:40", "test", EvaluationOptions(meteor=False))
    write_predictions(tmp_path / PREDICTIONS, [CaptionPrediction.of(each) for each in result.predictions])
    kept = read_predictions(tmp_path / PREDICTIONS)
    assert [each.image for each in kept] == [record.key for record in open_dataset("scenes:40").split("test")]
    assert np.mean([each.cider for each in kept]) == pytest.approx(result.metrics["cider"])
    assert result.seconds is not None
    assert result.seconds > 0
    assert "predictions" not in result.report()


def test_looking_at_what_is_named(soft: Run) -> None:
    """Captions whose attention is put, by hand, on the boxes they name, and beside them."""
    assert soft.vocabulary is not None
    records, _ = soft.encode(["scenes:40"], "test").split("test", captioned)
    gains = {}
    for where in ("on", "beside"):
        told = []
        for record in records:
            box = next(box for box in record.boxes if box.label in soft.vocabulary)
            row, column = int((box.top + box.bottom) * 4.5), int((box.left + box.right) * 4.5)
            weights = np.zeros((9, 9))
            weights[min(row, 8), min(column, 8)] = 1.0
            attention = weights if where == "on" else np.roll(weights, 4, axis=(0, 1))
            tokens = np.array([soft.vocabulary.index(box.label)])
            told.append(Decoded(tokens, 0.0, np.zeros(1), 0.0, True, attention.reshape(1, 81)))
        gains[where] = attention_on_objects(soft, records, told)["attention_gain"]
    assert gains["on"] > 1.5 > gains["beside"]
