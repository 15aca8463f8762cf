import json
from pathlib import Path

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from seetell.cli.check import check

app = typer.Typer()
app.command()(check)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    path = tmp_path / "mine.csv"
    path.write_text("file,split,caption\na.png,train,A dog\nabsent.png,test,A cat\n,train,No file\n", encoding="utf-8")
    return path


def test_text(table: Path) -> None:
    result = CliRunner().invoke(app, [f"table:{table}"])
    assert result.exit_code == 0
    assert "mine: 2 images, 2 captions" in result.stdout
    assert f"{table}:4: there is no file name" in result.stdout
    assert str(table.parent / "absent.png") in result.stdout


def test_json(table: Path) -> None:
    result = CliRunner().invoke(app, [f"table:{table}", "--json"])
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["usable"] is True
    assert len(content["unreadable"]) == 1


def test_no_images(table: Path) -> None:
    result = CliRunner().invoke(app, [f"table:{table}", "--no-images"])
    assert result.exit_code == 0
    assert "absent.png" not in result.stdout


def test_exit_code_when_nothing_is_left(table: Path) -> None:
    (table.parent / "a.png").unlink()
    for arguments in ([], ["--json"]):
        result = CliRunner().invoke(app, [f"table:{table}", *arguments])
        assert result.exit_code == 1
        assert "absent.png" in result.stdout
