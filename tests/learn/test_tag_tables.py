"""Ren's table, reproduced on a few scenes with an untrained network: its page, its figures and its claims."""

from pathlib import Path

from PIL import Image

from seetell.learn.recipes import load_recipe
from seetell.learn.reproduction.claims import sequence_claims
from seetell.learn.reproduction.pages.overview import write_results
from seetell.learn.reproduction.records import RowRecord
from seetell.learn.reproduction.reproduce import reproduce
from seetell.learn.reproduction.rows import Reproduction
from seetell.learn.reproduction.tables import published, table
from seetell.learn.tasks.tagging.figures import Predictions, summary

SMALL = [
    "encoder.name=test_efficientnet@random",
    "phases.epochs=2",
    "phases.batch=16",
    "decoding.train_images=8",
]


def test_rows_are_tag_recipes_with_the_published_figures() -> None:
    rows = [row for row in table("ren-table3").rows if not row.part]
    assert {load_recipe(row.recipe, dataset="coco").task for row in rows if row.recipe} == {"tagging"}
    found = {row.name: published(row, "coco").get("f1_of_means") for row in rows}
    assert len(found) == 11
    assert [name for name, f1 in found.items() if f1 is None] == ["best-tags"]
    assert max(found, key=lambda name: found[name] or 0) == "seq2seq"


def test_a_page_with_figures_and_names_of_examples(tmp_path: Path) -> None:
    rows = ["bce", "init", "best-tags", "init-beam5"]
    request = Reproduction(table("ren-table3"), ["scenes:60"], tmp_path, dataset="coco", settings=SMALL)
    page = reproduce(request, rows=rows)
    text = page.read_text(encoding="utf-8")
    assert "Measured on coco, test split" in text
    assert "--data scenes:60 --dataset coco" in text
    assert "another dataset" not in text
    assert "| CNN as initialization, published | 71.5 | 67.4 | 69.4 |" in text
    assert "best-tags, published" not in text
    assert "**best-tags, measured**" in text
    for name in ("learning", "by-count", "by-label", "company"):
        assert f"(ren-table3-{name}.png)" in text
        with Image.open(tmp_path / f"ren-table3-{name}.png") as image:
            assert min(image.size) > 50
    found = Predictions.read(tmp_path / "runs" / "init.coco" / "predictions.jsonl")
    assert len(found.images) == len(set(found.images)) == 6
    assert all(len(set(labels)) == len(labels) for labels in found.predicted)
    assert "| Wang et al., published | 69.2 | 66.4 | 67.8 |" in text
    assert "Beam search with five beams adds to the F1 of greedy decoding:" in text
    record = RowRecord.read(tmp_path / "rows" / "ren-table3" / "init.coco.json")
    assert record.figures["tags"]["images"] == 6
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("ren-table3*")}
    for path in tmp_path.glob("ren-table3*"):
        path.unlink()
    write_results(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("ren-table3*")} == drawn


def test_predictions_are_read_as_they_were_written(tmp_path: Path) -> None:
    predictions = Predictions(["a", "b", "ü"], [["dog"], ["cat", "dog"], ["car"]], [["dog"], ["dog", "cat"], ["bus"]])
    predictions.write(tmp_path / "predictions.jsonl")
    found = Predictions.read(tmp_path / "predictions.jsonl")
    assert found == predictions
    analysis = found.analysis()
    assert (analysis.perfect, analysis.wrong) == ([1, 0], [2])
    assert {report.label: report.f1 for report in analysis.by_label} == {"cat": 100, "dog": 100, "car": 0, "bus": None}


def test_claims_follow_from_the_figures() -> None:
    def f1(**scores: float) -> dict[str, list[dict[str, float]]]:
        return {name.replace("_", "-"): [{"f1_of_means": score}] for name, score in scores.items()}

    assert sequence_claims(f1(bce=60)) == []
    alone, best, attention = sequence_claims(f1(bce=60, warp=59, init=66, seq2seq=68, seq2seq_attn=67))
    assert "F1 of 66.0 to 68.0, the CNN alone 59.0 to 60.0: the claim holds." in alone
    assert "is seq2seq with 68.0; the best and the worst differ by 2.0 points." in best
    assert "-1.0 for seq2seq. In the paper" in attention
    assert "the claim does not hold" in sequence_claims(f1(bce=67, init=66))[0]
    rates = sequence_claims(f1(init=66, init_rate0001=60, init_rate00001=64, seq2seq=65, seq2seq_xavier=64))
    assert rates[-1] == (
        "F1 of init by learning rate: 60.0 with 0.001, 66.0 with 0.0005, 64.0 with 0.0001. "
        "The paper's best rows use 0.0001."
    )
    assert "compared with Xavier initialisation, add to F1: +1.0 for seq2seq." in rates[-2]


def test_what_a_record_keeps_of_predictions() -> None:
    predictions = Predictions(["a", "b", "c"], [["dog"], ["cat", "dog"], ["car"]], [["dog"], ["dog", "cat"], ["bus"]])
    kept = summary(predictions.analysis(), predictions)
    assert (kept["images"], kept["perfect"], kept["wrong"]) == (3, 2, 1)
    assert kept["by_count"]["1"]["samples"] == 2
    assert kept["by_label"] == [["cat", 100.0], ["dog", 100.0], ["car", 0.0]]
    assert kept["examples"]["wrong"] == [["c", ["car"], ["bus"]]]
    assert "examples" not in summary(predictions.analysis())
    often = Predictions(["x"] * 20, [["cup", "fork"]] * 20, [["cup", "fork"]] * 10 + [["cup"]] * 10)
    kept = summary(often.analysis())
    assert kept["shares"] == [[100, 50, 1], [100, 100, 1]]  # half of the cups have a predicted fork, all forks a cup
    assert kept["apart"][0] == ["cup", "fork", 100.0, 50.0]
