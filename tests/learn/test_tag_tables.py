"""Ren's table: reproduced on a few scenes with an untrained network, and what its page says and shows."""

from pathlib import Path

import pytest
from PIL import Image

from seetell.learn.recipes import load
from seetell.learn.reproduce import reproduce
from seetell.learn.tables import sequences_say, table
from seetell.learn.training.tag_figures import Predictions

SMALL = [
    "encoder.name=test_efficientnet@random",
    "phases.epochs=2",
    "phases.batch=16",
    "decoding.train_pictures=8",
]


def test_rows_are_tag_recipes_with_the_published_figures() -> None:
    rows = table("ren-table3").rows
    recipes = [load(row, dataset="coco") for row in rows]
    assert {recipe.family for recipe in recipes} == {"tags"}
    published = {recipe.name: recipe.published["coco"]["f1_of_means"] for recipe in recipes if recipe.published}
    assert published.keys() == set(rows) - {"best-tags"}
    assert max(published, key=lambda name: published[name]) == "seq2seq"


def test_a_page_with_figures_and_names_of_examples(tmp_path: Path) -> None:
    page = reproduce(
        table("ren-table3"), ["scenes:60"], tmp_path, dataset="coco", rows=["bce", "init", "best-tags"], settings=SMALL
    )
    text = page.read_text(encoding="utf-8")
    assert "Measured on coco, test split" in text
    assert "--data scenes:PATH --dataset coco" in text
    assert "another dataset" not in text
    assert "| CNN as initialization, published | 71.5 | 67.4 | 69.4 |" in text
    assert "best-tags, published" not in text
    assert "**best-tags, measured**" in text
    for name in ("learning", "by-count", "by-label", "company"):
        assert f"(ren-table3-{name}.png)" in text
        with Image.open(tmp_path / f"ren-table3-{name}.png") as picture:
            assert min(picture.size) > 50
    told = Predictions.read(tmp_path / "runs" / "init" / "predictions.jsonl")
    assert len(told.pictures) == len(set(told.pictures)) == 6
    assert all(len(set(labels)) == len(labels) for labels in told.told)


def test_predictions_are_read_as_they_were_written(tmp_path: Path) -> None:
    predictions = Predictions(["a", "b", "ü"], [["dog"], ["cat", "dog"], ["car"]], [["dog"], ["dog", "cat"], ["bus"]])
    predictions.write(tmp_path / "predictions.jsonl")
    found = Predictions.read(tmp_path / "predictions.jsonl")
    assert found == predictions
    analysis = found.analysis()
    assert (analysis.perfect, analysis.wrong) == ([1, 0], [2])
    assert {report.label: report.f1 for report in analysis.by_label} == {"cat": 100, "dog": 100, "car": 0, "bus": None}


def test_what_is_said_follows_the_figures() -> None:
    def f1(**scores: float) -> dict[str, list[dict[str, float]]]:
        return {name.replace("_", "-"): [{"f1_of_means": score}] for name, score in scores.items()}

    assert sequences_say(f1(bce=60)) == []
    alone, best, attention = sequences_say(f1(bce=60, warp=59, init=66, seq2seq=68, seq2seq_attn=67))
    assert "F1 of 66.0 to 68.0, the CNN alone 59.0 to 60.0: it holds." in alone
    assert "is seq2seq with 68.0; between the best and the worst of them lie 2.0 points." in best
    assert "-1.0 for seq2seq. In the document" in attention
    assert "it does not hold" in sequences_say(f1(bce=67, init=66))[0]


@pytest.mark.parametrize("rows", [{}, {"init": Path("nowhere")}])
def test_without_predictions_there_are_no_figures(rows: dict[str, Path], tmp_path: Path) -> None:
    figures = table("ren-table3").figures
    assert figures is not None
    assert figures({name: tmp_path / path for name, path in rows.items()}, tmp_path, "x-") == []
