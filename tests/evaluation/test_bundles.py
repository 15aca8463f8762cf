"""Evaluation of a bundle's heads, compared with scores computed by hand."""

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from helpers.tiny_bundles import write_tiny
from seetell.cli import app
from seetell.data import open_dataset
from seetell.errors import DatasetError, SeetellError
from seetell.evaluation import EvaluationOptions, evaluate_bundle
from seetell.metrics import caption_scores
from seetell.runtime import open_model

COLOURS = {"red": (230, 20, 20), "green": (20, 230, 20), "blue": (20, 20, 230)}


@pytest.fixture
def table(tmp_path: Path) -> str:
    rows = ["file\tsplit\tcaption\tlabels"]
    for name, colour in COLOURS.items():
        Image.new("RGB", (16, 16), colour).save(tmp_path / f"{name}.png")
        rows.append(f"{name}.png\ttest\ta {name} thing\t{'red;green' if name == 'red' else name}")
    (tmp_path / "bad.png").write_bytes(b"not an image")
    rows.append("bad.png\ttest\ta red thing\tred")
    (tmp_path / "mine.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return f"table:{tmp_path / 'mine.tsv'}"


def test_every_head_is_scored_on_what_can_be_read(tmp_path: Path, table: str) -> None:
    dataset = open_dataset(table)
    readable = [record for record in dataset.split("test") if record.key != "bad.png"]
    with open_model(write_tiny(tmp_path / "tiny").path) as model:
        reports = evaluate_bundle(model, dataset, "test", EvaluationOptions(meteor=False))
        captions = [" ".join(model.captioner(record.image).best.words) for record in readable]
        chosen = [set(model.tagger(record.image).labels) for record in readable]
    assert set(reports) == {"captioner", "tagger", "retriever"}
    assert all((report["images"], report["unreadable"]) == (3, 1) for report in reports.values())
    expected = caption_scores(captions, [record.captions for record in readable], meteor=False)
    assert reports["captioner"]["metrics"] == pytest.approx(expected)
    right = [len(tags & set(record.labels)) for tags, record in zip(chosen, readable, strict=True)]
    recall = sum(n / len(record.labels) for n, record in zip(right, readable, strict=True)) / 3
    assert reports["tagger"]["metrics"]["recall"] == pytest.approx(100 * recall)
    assert 0 < reports["retriever"]["metrics"]["sum_of_recalls"] <= 600


def test_a_split_with_nothing_to_compare_is_refused(tmp_path: Path, table: str) -> None:
    with open_model(write_tiny(tmp_path / "tiny").path) as model, pytest.raises(DatasetError, match="'val'"):
        evaluate_bundle(model, open_dataset(table), "val")


def test_options_are_checked() -> None:
    for wrong in ({"folds": 0}, {"beam": 0}, {"limit": -1}, {"length": -0.5}, {"rerank_weight": float("nan")}):
        with pytest.raises(SeetellError, match=f"{next(iter(wrong))} is"):
            EvaluationOptions(**wrong)  # type: ignore[arg-type]


def test_options_reach_the_captioner(tmp_path: Path, table: str) -> None:
    with open_model(write_tiny(tmp_path / "tiny").path) as model:
        options = EvaluationOptions(beam=5, length=0.7, rerank_weight=2.0, limit=2, meteor=False)
        report = evaluate_bundle(model, open_dataset(table), "test", options)["captioner"]
    assert report["images"] + report["unreadable"] == 2
    assert report["protocol"].startswith("beam 5, length exponent 0.7, at most 6 words, re-ranked")


def test_the_verb_prints_a_line_a_head(tmp_path: Path, table: str) -> None:
    bundle = str(write_tiny(tmp_path / "tiny").path)
    result = CliRunner().invoke(app, ["evaluate", bundle, "--data", table, "--json"])
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["kind"] for line in lines] == ["captioner", "tagger", "retriever"]
    assert all({"metrics", "split", "images", "protocol"} <= line.keys() for line in lines)
    text = CliRunner().invoke(app, ["evaluate", bundle, "--data", table])
    assert "sum_of_recalls" in text.stdout
    matched = CliRunner().invoke(app, ["evaluate", bundle, "--data", table, "--rerank-weight", "0.7"])
    assert "re-ranked by similarity with weight 0.7" in matched.stdout
    assert "re-ranked" not in text.stdout
    alone = str(write_tiny(tmp_path / "alone", ("captioner",)).path)
    with pytest.raises(SeetellError, match="no retriever"):
        CliRunner().invoke(app, ["evaluate", alone, "--data", table, "--rerank-weight", "1"], catch_exceptions=False)
