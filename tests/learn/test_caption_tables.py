"""The tables of captioners: their rows, their pages, and claims that follow from the figures."""

from pathlib import Path

import pytest

from helpers.sample_records import sample
from seetell.data import open_dataset
from seetell.learn.recipes import load_recipe
from seetell.learn.reproduction.claims import CLAIMS
from seetell.learn.reproduction.pages.captions import CaptionRow, caption_blocks, example_captions
from seetell.learn.reproduction.pages.overview import write_results
from seetell.learn.reproduction.records import RowRecord
from seetell.learn.reproduction.reproduce import reproduce
from seetell.learn.reproduction.rows import Reproduction
from seetell.learn.reproduction.tables import table
from seetell.learn.tasks.captioning.predictions import CaptionPrediction

SMALL = ["encoder.name=test_efficientnet@random", "phases.epochs=1", "decoding.maximum_length=5", "decoding.beam=2"]


@pytest.mark.parametrize("name", ["xu-table1", "vaishali"])
def test_rows_are_caption_recipes(name: str) -> None:
    for row in table(name).rows:
        if row.recipe:
            assert load_recipe(row.recipe, dataset="flickr8k").task == "captioning"


def test_rows_without_training_and_rows_tested_again(tmp_path: Path) -> None:
    """Baselines, a trained model decoded greedily, and their page without the runs."""
    records, out = tmp_path / "site" / "rows", tmp_path / "out"
    rows = ["retrieval-based", "template-based"]
    vaishali = Reproduction(table("vaishali"), ["scenes:40"], out, settings=SMALL)
    reproduce(vaishali, rows=rows, records=records)
    rows = ["attend-soft", "attend-soft-greedy", "attend-hard", "attend-hard-expected"]
    reproduce(Reproduction(table("xu-table1"), ["scenes:40"], out, settings=SMALL), rows=rows, records=records)
    reproduce(vaishali, rows=["attend-soft"], records=records)  # kept
    found = {path.stem: RowRecord.read(path) for path in records.rglob("*.json")}
    assert found["template-based.scenes"].protocol.startswith("labels of the tagger of photos in a fixed sentence")
    assert all(
        one["caption"].startswith("there is a") for one in found["template-based.scenes"].figures["captions"]["random"]
    )
    assert found["retrieval-based.scenes"].protocol.startswith("the consensus caption of the 20 nearest")
    assert found["attend-soft-greedy.scenes"].protocol.startswith("greedy")
    assert found["attend-soft-greedy.scenes"].history == []
    likeliest, expected = (found[f"attend-hard{name}.scenes"].settings["model"] for name in ("", "-expected"))
    assert (likeliest["attention"], expected["attention"]) == ("hard", "soft")
    assert {name for name, record in found.items() if not record.seconds_decoding} == {"template-based.scenes"}
    assert str(tmp_path) not in "".join(path.read_text(encoding="utf-8") for path in records.rglob("*.json"))
    pages = {name: (out / name).read_bytes() for name in ("vaishali.md", "xu-table1.md", "vaishali.png")}
    for sheet in out.glob("*-attention-*.png"):
        sheet.rename(records.parent / sheet.name)
    write_results(records.parent)
    assert {name: (records.parent / name).read_bytes() for name in pages} == pages
    assert "(vaishali-attention-" in pages["vaishali.md"].decode()


def test_images_of_ones_own_are_shown_with_attention(tmp_path: Path) -> None:
    paths = [tmp_path / "one.png", tmp_path / "two.png"]
    for path, record in zip(paths, open_dataset("scenes:40").split("test"), strict=False):
        path.write_bytes(record.image.read())
    out = tmp_path / "out"
    request = Reproduction(table("xu-table1"), ["scenes:40"], out, settings=SMALL, show=paths)
    page = reproduce(request, rows=["attend-soft"])
    sheets = sorted(path.name for path in out.glob("*.png") if "attention" in path.name)
    assert sheets == ["xu-table1-attention-one.png", "xu-table1-attention-two.png"]
    assert all(sheet in page.read_text(encoding="utf-8") for sheet in sheets)


def prediction(image: int, cider: float) -> CaptionPrediction:
    return CaptionPrediction(f"{image}.jpg", f"caption {image}", [f"reference {image}", "another"], cider)


def test_a_record_keeps_the_best_the_worst_and_the_same_random_captions() -> None:
    scores = [(image * 7) % 30 for image in range(30)]
    kept = example_captions([prediction(image, score) for image, score in enumerate(scores)])
    order = sorted(range(30), key=lambda image: -scores[image])
    assert [one["image"] for one in kept["best"]] == [f"{image}.jpg" for image in order[:4]]
    assert [one["image"] for one in kept["worst"]] == [f"{image}.jpg" for image in order[:-5:-1]]
    other = example_captions([prediction(image, -score) for image, score in enumerate(scores)])
    assert [one["image"] for one in kept["random"]] == [one["image"] for one in other["random"]]
    assert len({one["image"] for one in kept["random"]}) == 8


def test_a_page_shows_the_best_row_and_all_rows_side_by_side() -> None:
    captions = {"best": [], "worst": [], "random": [{"image": "1.jpg", "reference": "A dog .", "caption": "a dog"}]}
    other = {**captions, "random": [{"image": "1.jpg", "reference": "A dog .", "caption": "a cat"}]}
    metrics = {
        "cider": 40.0,
        "mean_length": 9.0,
        "attention_on_things": 20.0,
        "things_area": 10.0,
        "attention_gain": 2.0,
    }
    rows = [CaptionRow("one", metrics, captions), CaptionRow("two", {"cider": 50.0, "mean_length": 8.0}, other)]
    blocks = [str(block) for block in caption_blocks(rows)]
    assert any("captions of two, by" in block for block in blocks)
    assert any("['1.jpg', 'A dog .', 'a dog', 'a cat']" in block for block in blocks)
    assert any("['one', '20.0', '10.0', '2.0']" in block for block in blocks)
    assert caption_blocks([]) == []


def test_claims_follow_from_the_figures() -> None:
    claims = CLAIMS["xu-table1"]
    assert claims({"attend-soft": [{"bleu4_no_bp": 20.0}]}) == []
    results = {"attend-soft": [{"bleu4_no_bp": 20.0}], "attend-hard": [{"bleu4_no_bp": 21.0}, {"bleu4_no_bp": 17.0}]}
    assert claims(results)[0].endswith("is 19.0 with hard attention and 20.0 with soft: unlike the paper.")
    parts = {
        "attend-soft": [{"bleu4_no_bp": 20.0, "cider": 50.0}],
        "attend-soft-no-ds": [{"bleu4_no_bp": 19.5, "cider": 51.0}],
    }
    assert claims(parts) == ["The doubly stochastic penalty adds +0.5 to BLEU-4 without penalty and -1.0 to CIDEr."]
    lengths = {
        "attend-soft-mixed": [{"bleu4_no_bp": 20.0, "cider": 50.0}],
        "attend-soft-buckets": [{"bleu4_no_bp": 21.0, "cider": 49.5}],
    }
    assert claims(lengths)[0].endswith("instead of all lengths, add +1.0 to BLEU-4 without penalty and -0.5 to CIDEr.")
    order = CLAIMS["vaishali"]({"merge": [{"cider": 40.0}], "merge-300": [{"cider": 45.0}]})
    assert order == [
        "By CIDEr: merge-300 45.0, merge 40.0.",
        "Word vectors of 300 dimensions instead of 50 add +5.0 to CIDEr.",
    ]


def test_the_cost_of_a_row() -> None:
    flat = sample("vaishali", "merge", {"cider": 1.0}, seconds=60).flat
    assert (flat["samples_per_second"], flat["captions_per_second"], flat["epochs"]) == (20.0, 500.0, 2.0)
