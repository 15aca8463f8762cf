"""A table reproduced on a few scenes with an untrained network: rows are trained once, and the page holds them."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from seetell.errors import SeetellError
from seetell.figures.page import Command, Figure, Heading, Page, Paragraph, Table
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.reproduction.claims import full_network_claims, negatives_claims, start_claims
from seetell.learn.reproduction.pages.overview import write_results
from seetell.learn.reproduction.records import RowRecord
from seetell.learn.reproduction.reproduce import given_files, reproduce
from seetell.learn.reproduction.rows import Reproduction, _started, _until_started
from seetell.learn.reproduction.tables import TABLES, published, table
from seetell.learn.training.loop import State
from seetell.progress import Progress

SMALL = [
    "encoder.name=test_efficientnet@random",
    "model.dimensions=16",
    "model.word_dimensions=8",
    "phases.epochs=1",
    "phases.batch=16",
]


def test_rows_are_trained_once_and_compared_with_published_figures(tmp_path: Path) -> None:
    messages: list[str] = []
    records = tmp_path / "site" / "rows"
    out = tmp_path / "out"
    request = Reproduction(
        table("vilalta-table2"), ["scenes:60"], out, settings=SMALL, progress=Progress(write=messages.append)
    )
    page = reproduce(request, rows=["FNE-SH", "fc7-sh"], records=records)
    text = page.read_text(encoding="utf-8")
    assert "| FNE-SH, published | 25.0 | 50.8 |" in text
    assert "**FC7-SH, measured**" in text
    assert "Not run here: FC7-SH-bl" in text
    assert "Budget: `two-cores`" in text
    assert {path.name for path in out.iterdir()} == {
        *("runs", "vilalta-table2.md", "vilalta-table2.html", "vilalta-table2.png"),
    }
    assert {path.name for path in (out / "runs").iterdir()} == {"fc7-sh.scenes", "fne-sh.scenes"}
    trained = [line for line in messages if line.startswith("epoch")]
    assert len(trained) == 2
    reproduce(replace(request, settings=["phases.epochs=3"]), rows=["FC7-SH"], records=records)
    assert [line for line in messages if line.startswith("epoch")] == trained

    # Without the runs the page is the same, and the records say nothing of where they were made.
    drawn = {path.name: path.read_bytes() for path in out.glob("vilalta-table2.*")}
    shutil.rmtree(out)
    write_results(records.parent)
    assert {path.name: path.read_bytes() for path in records.parent.glob("vilalta-table2.*")} == drawn
    written = [path.read_text(encoding="utf-8") for path in records.rglob("*.json")]
    assert not any(str(tmp_path) in each for each in written)
    record = RowRecord.read(records / "vilalta-table2" / "fc7-sh.scenes.json")
    assert record.data["splits"] == {"test": 6, "train": 48, "val": 6}
    assert record.settings["model"]["dimensions"] == 16
    assert len(record.encoder["fingerprint"]) > 8
    assert len(record.history) == 1
    assert record.command.endswith("--rows fc7-sh --seed 1 " + " ".join(f"--set {setting}" for setting in SMALL))


def test_seeds_and_starts(tmp_path: Path) -> None:
    rows = ["FC7-MOE-bl", "table5-fc7-moe-bl-curriculum"]
    request = Reproduction(table("vilalta-table5"), ["scenes:60"], tmp_path, settings=SMALL)
    page = reproduce(request, rows=rows, seeds=[1, 2])
    assert "2 seeds" in page.read_text(encoding="utf-8")
    assert "Runs that started to learn: FC7-MOE-bl " in page.read_text(encoding="utf-8")
    stem = "table5-fc7-moe-bl"
    runs = {f"{name}.scenes{seed}" for name in (stem, f"{stem}-curriculum") for seed in ("", ".seed2")}
    assert {path.name for path in (tmp_path / "runs").iterdir()} == runs
    curriculum = RowRecord.read(tmp_path / "rows" / "vilalta-table5" / f"{stem}-curriculum.scenes.json")
    assert [epoch["phase"] for epoch in curriculum.history] == [1, 2]
    assert [phase["loss"]["kind"] for phase in curriculum.settings["phases"]] == ["sum", "max"]
    assert "--seeds 2" in page.read_text(encoding="utf-8")


def test_when_training_has_started() -> None:
    """Above 10 in any epoch; after a curriculum, still above it in the tenth epoch of the maximum."""
    plain = load_recipe("table5-fc7-moe-bl")
    after = load_recipe(
        "table5-fc7-moe-bl", settings=table("vilalta-table5").row("table5-fc7-moe-bl-curriculum").settings
    )

    def outcome(recipe: Recipe, *scores: float) -> tuple[bool, dict[str, float]]:
        phase = len(recipe.phases)
        before = [{"phase": 1, "epoch": 1, "score": 40.0}] if phase > 1 else []
        history = before + [{"phase": phase, "epoch": n, "score": score} for n, score in enumerate(scores, 1)]
        return _until_started(recipe)(State(history=history)), _started(history, recipe)

    assert outcome(plain, 3, 9) == (False, {"started": 0.0})
    assert outcome(plain, 3, 11) == (True, {"started": 1.0, "started_in": 2.0})
    assert outcome(plain, *[3] * 60) == (False, {"started": 0.0})  # it may start yet
    assert outcome(plain, *[0] * 29) == (False, {"started": 0.0})
    assert outcome(plain, *[3] * 20, *[0] * 10) == (True, {"started": 0.0})
    assert outcome(plain, *[3] * 21, *[0] * 9) == (False, {"started": 0.0})
    assert outcome(after, 30) == (False, {"started": 0.0})
    assert outcome(after, *[30] * 9, 20) == (True, {"started": 1.0, "started_in": 10.0})
    assert outcome(after, *[30] * 9, 0) == (False, {"started": 0.0})


def test_one_seed_of_a_row(tmp_path: Path) -> None:
    request = Reproduction(table("vilalta-table2"), ["scenes:60"], tmp_path, settings=SMALL)
    reproduce(request, rows=["fc7-sh"], seeds=[2])
    (path,) = (tmp_path / "rows" / "vilalta-table2").iterdir()
    record = RowRecord.read(path)
    assert (path.name, record.seed, record.settings["training"]["seed"]) == ("fc7-sh.scenes.seed2.json", 2, 2)
    assert "--seed 2" in record.command


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(SeetellError, match="no table 'vilalta-table9'"):
        table("vilalta-table9")
    with pytest.raises(SeetellError, match="no row 'FNE-XX'"):
        reproduce(Reproduction(table("vilalta-table2"), ["scenes:60"], tmp_path), rows=["FNE-XX"])
    with pytest.raises(SeetellError, match="needs weights of VGG16"):
        reproduce(Reproduction(table("vilalta-table2"), ["scenes:60"], tmp_path), rows=["fne-sh-vgg16"])
    with pytest.raises(SeetellError, match="unknown file --with vgg19=x"):
        given_files(["vgg19=x"])
    with pytest.raises(SeetellError, match="no such file"):
        given_files([f"vgg16={tmp_path / 'none.safetensors'}"])
    with pytest.raises(SeetellError, match="merge has not been trained here"):
        reproduce(Reproduction(table("vaishali"), ["scenes:60"], tmp_path), rows=["merge-self-critical"])


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_table_can_be_run(name: str) -> None:
    """Its recipe is there and takes its settings; a row that begins with another finds it in the table."""
    rows = {row.name: row for row in TABLES[name].rows}
    assert len(rows) == len(TABLES[name].rows)
    for row in rows.values():
        if row.recipe:
            files = dict.fromkeys(row.needs, "FILE")
            settings = [setting.format(**files) if row.needs else setting for setting in row.settings]
            recipe = load_recipe(row.recipe, dataset=TABLES[name].published_on, settings=settings)
            assert recipe.name == row.recipe
            assert recipe != load_recipe(row.recipe, dataset=TABLES[name].published_on) or not row.settings, row.name
        assert {row.starts_from, row.tests} <= {"", *rows}
        assert row.runs or row.published
    assert set(TABLES[name].headline) <= rows.keys()


@pytest.mark.parametrize(
    ("name", "row", "dataset", "figures"),
    [
        ("vilalta-table2", "fc7-sh-bl", "flickr8k", {"image_to_text.r1": 21.0, "text_to_image.median_rank": 11}),
        ("vilalta-table2", "fne-mh", "flickr8k", {"sum_of_recalls": 281.4}),  # 27.3 56.8 69.3 21.2 47.1 59.7
        ("vilalta-table2", "fne-moe-bl", "flickr8k", {"image_to_text.median_rank": 2476}),
        ("vilalta-table2", "fne-mh-vgg16", "flickr8k", {"image_to_text.r1": 27.3}),
        ("vilalta-table3", "fne-poe", "flickr30k", {"image_to_text.r5": 67.1, "text_to_image.r1": 28.1}),
        ("vilalta-table4", "fc7-poe", "coco", {"image_to_text.r1": 45.6, "text_to_image.r10": 83.1}),
        ("vilalta-table4", "fne-ph", "coco", {"image_to_text.r10": 88.4, "text_to_image.r5": 71.3}),
        ("vilalta-table5", "table5-fne-moe-abs", "flickr8k", {"started": 0.8}),
        ("vilalta-table5", "table5-fc7-moe-bl", "flickr8k", {"started": 1.0}),
        ("kolluru-table1", "two-branch-k1", "flickr30k", {"image_to_text.r10": 56.2, "text_to_image.r1": 15.3}),
        ("kolluru-table2", "two-branch-k10", "coco", {"image_to_text.r5": 12.9, "text_to_image.r10": 18.9}),
        ("xu-table1", "attend-hard", "coco", {"bleu4_no_bp": 25.0, "meteor": 23.04}),
        ("xu-table1", "attend-soft-vgg16", "flickr8k", {"bleu1_no_bp": 67.0, "meteor": 18.93}),
        ("vaishali", "initial", "coco", {"bleu1": 66.6, "bleu4": 24.6}),
        ("ren-table3", "wang", "coco", {"precision": 69.2, "recall": 66.4, "f1_of_means": 67.8}),
        ("ren-table3", "joint-attn", "coco", {"precision": 69.5, "recall": 64.7, "f1_of_means": 67.0}),
    ],
)
def test_published_figures(name: str, row: str, dataset: str, figures: dict[str, float]) -> None:
    """Read off the papers' tables by hand."""
    found = published(table(name).row(row), dataset)
    assert {metric: found[metric] for metric in figures} == pytest.approx(figures)


def test_variants_have_no_published_figures() -> None:
    assert published(table("xu-table1").row("attend-soft-no-gate"), "flickr8k") == {}
    assert published(table("ren-table3").row("init-beam5"), "coco") == {}


def one(value: float) -> list[dict[str, float]]:
    return [{"sum_of_recalls": value}]


def test_claims_follow_from_the_figures() -> None:
    wins = {"fc7-sh": one(240), "fne-sh": one(260), "fc7-mh": one(245), "fne-mh": one(268)}
    first, second = full_network_claims(wins)
    assert "in 2 of the 2 pipelines" in first
    assert "SH +20.0, MH +23.0; on average +21.5" in first
    assert second.endswith("the first claim holds and the second holds.")
    first, second = full_network_claims({**wins, "fne-sh": one(230), "fne-mh": one(250)})
    assert "in 1 of the 2" in first
    assert second.endswith("the first claim does not hold and the second does not hold.")
    first, left_out, second = full_network_claims({**wins, "fc7-moe": one(13), "fne-moe": one(260)})
    assert "in 2 of the 2 pipelines" in first
    assert left_out.endswith("hardly started to learn: MOE (13.0 and 260.0).")
    assert second.endswith("the first claim holds and the second holds.")
    assert full_network_claims({"fne-sh": one(3)}) == []
    assert "as in the paper" in negatives_claims({"two-branch-k1": one(200), "two-branch-k10": one(50)})[0]
    assert "unlike" in negatives_claims({"two-branch-k1": one(200), "two-branch-k10": one(190)})[0]
    started, failed = {"started": 1.0}, {"started": 0.0}
    assert "FNE-MOE-abs 1/2" in start_claims({"table5-fne-moe-abs": [started, failed]})[0]
    assert start_claims({"table5-fne-moe-abs-curriculum": [started]})[0].endswith(
        "FNE-MOE-abs 1/1. The paper reports that no run with a curriculum failed to start; here that holds."
    )
    assert start_claims({"table5-fne-moe-abs-curriculum": [started, failed]})[0].endswith("that does not hold.")
    tuned = {"two-branch-k1": one(200), "two-branch-k10": one(50), "two-branch-k10-slow": one(150)}
    assert (
        "a quarter of the learning rate” with 150.0; the best with one negative has 200.0" in negatives_claims(tuned)[1]
    )
    vgg = {"fc7-sh-vgg16": one(240), "fne-sh-vgg16": one(239)}
    assert full_network_claims(vgg)[0].startswith(
        "With VGG16 the full-network embedding has the higher sum of recalls in 0"
    )


def test_a_page_in_markdown_and_html() -> None:
    page = Page("A & B")
    page.add(Heading("Head"), Paragraph("1 < 2"), Command("seetell x\n  y"), Table(["", "n"], [["a|b", "1"]]))
    page.add(Figure("f.png", "a figure"), Paragraph("**bold**, `code`, [a page](x.md)"))
    assert page.markdown() == (
        "# A & B\n\n## Head\n\n1 < 2\n\n    seetell x\n      y\n\n"
        "|  | n |\n| --- | ---: |\n| a\\|b | 1 |\n\n![a figure](f.png)\n\n"
        "**bold**, `code`, [a page](x.md)\n"
    )
    html = page.html()
    assert "<h1>A &amp; B</h1>" in html
    assert "<p>1 &lt; 2</p>" in html
    assert "<td>a|b</td><td>1</td>" in html
    assert '<img src="f.png" alt="a figure">' in html
    assert '<strong>bold</strong>, <code>code</code>, <a href="x.md">a page</a>' in html
