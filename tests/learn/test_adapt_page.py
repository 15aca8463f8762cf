"""Every command of docs/adapt.md runs, with a small suite in the place of the built-in one."""

import runpy
from pathlib import Path

import pytest

from seetell.data import open_dataset
from seetell.learn.export import Description, export, open_runs
from seetell.learn.recipes import load
from seetell.learn.training.run import train

ROOT = Path(__file__).parents[2]
SMALL = ["encoder.name=test_efficientnet@random", "encoder.view=whole", "phases.epochs=1"]
SIZES = {
    "attend-soft": ["model.units=16", "model.word_dimensions=12", "model.attention_dimensions=8"],
    "best-tags": [],
    "best-retrieval": ["encoder.components=16", "model.dimensions=16", "model.pairs=2", "model.hidden=16"],
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Other sizes than the recipes', so that those must be taken over; trained on other scenes than the page's."""
    folder = tmp_path_factory.mktemp("standin")
    for name, sizes in SIZES.items():
        recipe = load(name, dataset="scenes", settings=[*SMALL, *sizes])
        train(recipe, ["scenes:40?seed=3"], folder / name, accelerator="cpu")
    records = open_dataset("scenes:40?seed=3").split("val")
    export(
        open_runs([folder / name for name in SIZES]),
        folder / "suite",
        Description("standin"),
        pictures=[record.picture for record in records],
        texts=[record.captions[0] for record in records],
    )
    return folder / "suite"


def test_the_page_runs(suite: Path, tmp_path: Path) -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "adapt.py"))
    page = (ROOT / "docs" / "adapt.md").read_text(encoding="utf-8")
    assert "scenes:300" in page
    assert len(tool["commands"](page)) == 8
    short = page.replace("scenes:300", "scenes:60")  # fewer than the components of best-retrieval's own setting
    before, after = tool["run"](short, tmp_path, str(suite), ["--set", "phases.epochs=1"])
    assert set(before) == set(after) == {"captioner", "tagger", "retriever"}
    figures = tool["table"](before, after)
    assert figures.count("\n") == 7
    filled = tool["FIGURES"].sub(lambda found: found[1] + figures + found[2], page)
    assert figures in filled
    assert tool["FIGURES"].sub(lambda found: found[1] + found[2], filled).count("figures:") == 2
