"""`seetell evaluate RUN --sheet DIR`: a page and images of what some queries find, beside the same scores."""

from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from seetell.cli import app
from seetell.errors import SeetellError
from seetell.learn.recipes import load_recipe
from seetell.learn.training.run import Run
from seetell.learn.training.train import train

DATA = "scenes:40"
SMALL = [
    "encoder.name=test_efficientnet@random",
    "model.dimensions=16",
    "model.word_dimensions=8",
    "phases.epochs=1",
    "phases.batch=16",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    recipe = load_recipe("fc7-mh", dataset="scenes", settings=SMALL)
    return train(recipe, [DATA], tmp_path_factory.mktemp("runs") / "run", device="cpu")


def test_sheets_of_a_run(run: Run, tmp_path: Path) -> None:
    command = ["evaluate", str(run.path), "--data", DATA, "--split", "val"]
    without = CliRunner().invoke(app, command)
    done = CliRunner().invoke(app, [*command, "--sheet", str(tmp_path / "sheets")])
    assert done.exit_code == 0
    page = tmp_path / "sheets" / "retrieval.html"
    metrics = without.output[without.output.index("  image_to_text") :]
    assert done.output.endswith(f"{metrics}Examples: {page.parent}\n")
    assert {path.name for path in page.parent.iterdir()} == {"retrieval.html", "best.png", "worst.png", "random.png"}
    text = page.read_text(encoding="utf-8")
    assert "What fc7-mh finds" in text
    assert "scenes, split val: 4 images" in text
    assert "⇔" in text  # scenes share words
    with Image.open(page.parent / "best.png") as image:
        assert image.width > 900


def test_bundles_have_none(tmp_path: Path) -> None:
    command = ["evaluate", "builtin", "--data", DATA, "--sheet", str(tmp_path / "sheets")]
    with pytest.raises(SeetellError, match="--sheet applies to runs only"):
        CliRunner().invoke(app, command, catch_exceptions=False)


def test_options_of_other_models_are_refused(run: Run) -> None:
    for option, problem in (
        ("--length", "applies to captioning runs only"),
        ("--rerank-weight", "applies to exported models only"),
    ):
        with pytest.raises(SeetellError, match=problem):
            CliRunner().invoke(app, ["evaluate", str(run.path), "--data", DATA, option, "1"], catch_exceptions=False)
