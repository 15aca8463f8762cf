"""The command `seetell learn features`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from seetell.cli.learn_features import features
from seetell.data import Record
from seetell.errors import SeetellError
from seetell.learn.encoders import FeatureStore

app = typer.Typer()
app.command()(features)
runner = CliRunner()


def run(*arguments: str) -> tuple[str, str]:
    result = runner.invoke(app, list(arguments), catch_exceptions=True)
    if isinstance(result.exception, SeetellError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


@pytest.fixture
def table(tmp_path: Path, make_record: Callable[..., Record]) -> str:
    lines = ["file\tsplit"]
    for number in range(6):
        data = make_record(number).image.read() if number != 4 else b"broken"
        (tmp_path / f"{number}.jpg").write_bytes(data)
        lines.append(f"{number}.jpg\t{'train' if number < 3 else 'val' if number < 5 else 'test'}")
    (tmp_path / "table.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"table:{tmp_path / 'table.tsv'}?images={tmp_path}"


def test_says_what_it_did(table: str, tmp_path: Path) -> None:
    options = [table, "--encoder", "test_resnet@random", "--store", str(tmp_path / "store")]
    out, err = run(*options, "--layout", "pooled", "--layout", "levels")
    assert "pooled: 6 images × 192 bytes" in err
    first, *rest = out.splitlines()
    assert first.startswith("6 images: 5 encoded, 0 already there, 1 unreadable, in ")
    assert "4.jpg" in rest[0]
    assert rest[1].startswith("pooled: 5 rows, 960 bytes, ")
    assert len(FeatureStore.open(rest[1].rpartition(", ")[2])) == 5
    out, _ = run(*options, "--layout", "levels")
    assert out.startswith("6 images: 0 encoded, 5 already there, 1 unreadable")


def test_json_has_everything(table: str, tmp_path: Path) -> None:
    out, _ = run(
        table, "--encoder", "test_resnet@random", "--layout", "pooled", "--crops", "10", "--precision", "float32",
        "--split", "val", "--split", "test", "--store", str(tmp_path / "store"), "--json",
    )  # fmt: skip
    report = json.loads(out)
    assert (report["images"], report["new"], report["present"]) == (3, 2, 0)
    assert report["unreadable"][0]["image"].endswith("4.jpg")
    store = report["stores"]["pooled"]
    assert (store["rows"], store["bytes"]) == (2, 2 * 96 * 4)
    assert FeatureStore.open(store["path"]).spec.preparation.crops == "ten"


def test_a_limit_and_the_store_from_the_environment(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEETELL_STORE", str(tmp_path / "elsewhere"))
    out, _ = run(table, "--encoder", "test_resnet@random", "--limit", "2")
    assert out.startswith("2 images: 2 encoded")
    assert [path.name.rpartition("-")[0] for path in (tmp_path / "elsewhere").iterdir()] == ["test_resnet-grid-float16"]


def test_the_whole_image(table: str, tmp_path: Path) -> None:
    options = ["--encoder", "test_resnet@random", "--layout", "pooled", "--split", "test", "--store", str(tmp_path)]
    out, _ = run(table, *options, "--view", "whole", "--size", "64", "--json")
    spec = FeatureStore.open(json.loads(out)["stores"]["pooled"]["path"]).spec
    assert (spec.preparation.fit, spec.preparation.resize, spec.preparation.size) == ("squash", 64, 64)
    assert spec.folder.startswith("test_resnet-pooled-whole-float16-")
    assert spec.view_options == " --view whole --size 64"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--view", "wide"], "no view 'wide'"),
        (["--crops", "5"], "must be 1 or 10"),
        (["--precision", "float8"], "must be float16 or float32"),
        (["--split", "nonsense"], "Its splits are test, train, val"),
        (["--layout", "nonsense"], "no such layout"),
        (["--encoder", "nonsense"], "no network of this name"),
    ],
)
def test_mistakes_are_explained(table: str, tmp_path: Path, options: list[str], reason: str) -> None:
    with pytest.raises(SeetellError, match=reason):
        run(table, "--store", str(tmp_path / "store"), "--encoder", "test_resnet@random", *options)
