"""The tools around the built-in model, with a small one of scenes: docs/adapt.md's commands, and `make builtin`."""

import json
import runpy
from pathlib import Path

import pytest

from seetell.bundle import Bundle
from seetell.data import open_dataset
from seetell.learn.exporting import ModelInfo, Samples, build_bundle, open_runs
from seetell.learn.recipes import load_recipe
from seetell.learn.training.run import Run
from seetell.learn.training.train import train

ROOT = Path(__file__).parents[2]
SMALL = ["encoder.name=test_efficientnet@random", "encoder.view=whole", "phases.epochs=1"]
STAGES = {  # other sizes than the recipes', so that those must be taken over
    "captions": ("attend-soft", ["model.units=16", "model.word_dimensions=12", "model.attention_dimensions=8"]),
    "tags": ("best-tags", []),
    "retrieval": (
        "best-retrieval",
        ["encoder.components=16", "model.dimensions=16", "model.pairs=2", "model.hidden=16"],
    ),
}
DATA = "scenes:40?seed=3"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("captions", "retrieval"):  # the tool trains the third
        recipe, sizes = STAGES[name]
        train(load_recipe(recipe, dataset="scenes", settings=[*SMALL, *sizes]), [DATA], folder / name, device="cpu")
    return folder


def plan(folder: Path) -> Path:
    recipe, sizes = STAGES["tags"]
    content = f"""
        name = "photos"
        about = "Scenes."
        licence = "Apache-2.0"
        quantize = "int8"
        measured = 4
        tested = ["flickr8k", "coco-captions", "coco-labels"]
        remarks = "First.\\n\\nSecond."
        data = {{ flickr8k = "scenes:40", coco-captions = "scenes:40?seed=8", coco-labels = "scenes:40?seed=9" }}
        failures = {{}}
        [[stages]]
        name = "tags"
        recipe = "{recipe}"
        dataset = "scenes"
        data = ["coco-labels"]
        set = {json.dumps([*SMALL, *sizes])}
        [[stages]]
        name = "captions"
        recipe = "a finished run is not looked up"
        dataset = "scenes"
        data = []
        set = []
    """
    (folder / "plan.toml").write_text(content, encoding="utf-8")
    return folder / "plan.toml"


@pytest.mark.slow
def test_the_model_is_built_and_twice_the_same(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    build = runpy.run_path(str(ROOT / "tools" / "builtin.py"))["main"]
    printed = []
    for work in ("one", "two"):
        given = ["--plan", str(plan(tmp_path)), "--runs", str(runs), "--work", str(tmp_path / work)]
        build([str(tmp_path), *given, "--limit", "30"])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert printed[0].count("\n") == len(list((tmp_path / "one" / "photos").iterdir()))
    assert "MODEL_CARD.md" in printed[0]
    bundle = Bundle.open(tmp_path / "one" / "photos")
    assert bundle.manifest.precision == "int8"
    assert set(bundle.manifest.kinds) == {"captioner", "tagger", "retriever"}
    for head in bundle.manifest.heads:
        assert [score.split for score in head.scores if score.measured_on == "bundle"].count("test") == 3
    card = (tmp_path / "one" / "photos" / "MODEL_CARD.md").read_text(encoding="utf-8")
    page = (tmp_path / "one" / "builtin.md").read_text(encoding="utf-8")
    assert bundle.fingerprint[:16] in card
    assert "`best-tags`" in card
    for text in (card, page):
        assert "seetell evaluate builtin --data 'scenes:40?limit=30' --split test" in text
        assert str(tmp_path) not in text
        assert text.count("| bleu4 |") == 3
        assert text.count("| metric | score |") == 9
    assert "First." not in page  # remarks describe the full model


def test_a_run_says_whether_it_is_finished(runs: Path, tmp_path: Path) -> None:
    assert Run.open(runs / "captions").finished
    recipe, sizes = STAGES["tags"]
    longer = load_recipe(recipe, dataset="scenes", settings=[*SMALL, *sizes, "phases.epochs=2"])
    stopped = train(longer, [DATA], tmp_path / "run", device="cpu", stop=lambda state: state.epoch == 1)
    assert len(stopped.history()) == 1
    assert not stopped.finished
    assert train(longer, [DATA], tmp_path / "run", resume=True, device="cpu").finished


@pytest.mark.slow
def test_the_page_on_adapting_runs(runs: Path, tmp_path: Path) -> None:
    recipe, sizes = STAGES["tags"]
    train(load_recipe(recipe, dataset="scenes", settings=[*SMALL, *sizes]), [DATA], tmp_path / "tags", device="cpu")
    records = open_dataset(DATA).split("val")
    build_bundle(
        open_runs([runs / "captions", tmp_path / "tags", runs / "retrieval"]),
        tmp_path / "model",
        ModelInfo("standin"),
        Samples([record.image for record in records], [record.captions[0] for record in records]),
    )
    tool = runpy.run_path(str(ROOT / "tools" / "adapt.py"))
    page = (ROOT / "docs" / "adapt.md").read_text(encoding="utf-8")
    assert "scenes:300" in page
    assert len(tool["commands"](page)) == 8
    short = page.replace("scenes:300", "scenes:60")  # fewer than the components of best-retrieval's own setting
    before, after = tool["run"](short, tmp_path / "work", str(tmp_path / "model"), ["--set", "phases.epochs=1"])
    assert set(before) == set(after) == {"captioner", "tagger", "retriever"}
    figures = tool["table"](before, after)
    assert figures.count("\n") == 7
    assert figures in tool["FIGURES"].sub(lambda found: found[1] + figures + found[2], page)
