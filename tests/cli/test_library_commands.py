"""index, search, watch and library, as scripts call them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from helpers.tiny_bundles import HEADS, write_tiny
from seetell.cli import app
from seetell.cli.since import parse_since
from seetell.errors import SeetellError

COLOURS = {"red": (240, 20, 20), "green": (20, 240, 20), "blue": (20, 20, 240)}


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three images; the library and the models of the test are its own."""
    monkeypatch.setenv("SEETELL_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "models"))
    write_tiny(tmp_path / "models" / "tiny")
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in COLOURS.items():
        Image.new("RGB", (40, 30), colour).save(folder / f"{name}.png")
    return folder


@pytest.fixture
def indexed(photos: Path) -> Path:
    assert run("index", photos, "--model", "tiny", "--quiet").exit_code == 0
    return photos


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def rows(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def problem(result: Result) -> str:
    assert isinstance(result.exception, SeetellError), result.output
    return str(result.exception)


def test_index_reports_what_it_did(photos: Path) -> None:
    first = run("index", photos, "--model", "tiny", "--json")
    assert first.exit_code == 0
    (row,) = rows(first)
    assert (row["indexed"], row["unchanged"], row["problems"]) == (3, 0, [])
    (photos / "bad.jpg").write_bytes(b"no image")
    second = run("index", "--quiet")
    assert second.exit_code == 3
    assert "bad.jpg: this is text" in second.stderr
    assert "3 unchanged, 1 unreadable" in second.stdout
    assert run("index", "--quiet").exit_code == 0
    assert "reindex" in problem(run("index", photos, "--model", write_tiny(photos.parent / "x", HEADS[1:]).path))


def test_index_without_folders_and_search_without_a_library(photos: Path) -> None:
    assert "no library here" in problem(run("search", "red"))
    assert "no folders yet" in problem(run("index", "--model", "tiny"))


def test_search_gives_k_rows_of_json(indexed: Path) -> None:
    result = run("search", "a red thing", "-k", 2, "--json")
    assert result.exit_code == 0
    assert [list(row) for row in rows(result)] == [["path", "relevance", "matches", "caption", "tags"]] * 2
    assert all(0 <= float(str(row["relevance"])) <= 1 for row in rows(result))
    (row,) = rows(run("search", "--tag", "red", "--not-tag", "blue", "--folder", indexed, "--since", "1h", "--json"))
    assert row["path"] == str(indexed / "red.png")
    assert row["matches"] is True
    assert len(rows(run("search", "--like", indexed / "red.png", "--json"))) == 3


def test_search_says_when_nothing_matches(indexed: Path) -> None:
    result = run("search", "quokka")
    assert result.exit_code == 1
    assert result.stdout.startswith("nothing matches; the nearest has a relevance of 0%")
    assert "quokka" in result.stderr
    assert len(run("search", "quokka", "--all").stdout.splitlines()) == 6
    assert run("search", "quokka", "--all").exit_code == 0
    assert "nothing to search for" in problem(run("search"))
    refused = run("search", "red", "--rank", "x")
    assert refused.exit_code == 2
    assert "'together', 'embedding'" in refused.stderr
    assert "not a time" in problem(run("search", "red", "--since", "yesterday"))


def test_what_is_found_is_copied_and_put_on_a_sheet(indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "red.png").write_bytes(b"another one")
    result = run("search", "--tag", "red", "--copy-to", tmp_path / "out", "--sheet", tmp_path / "sheet.png")
    assert result.exit_code == 0
    assert (tmp_path / "out" / "red.png").read_bytes() == b"another one"
    assert (tmp_path / "out" / "red-2.png").read_bytes() == (indexed / "red.png").read_bytes()
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 200
    assert "0 images copied" in run("search", "--tag", "red", "--copy-to", tmp_path / "out").stderr


def test_the_best_one_is_opened(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("typer.launch", opened.append)
    run("search", "--tag", "blue", "--open")
    assert opened == [str(indexed / "blue.png")]


def test_duplicates(indexed: Path) -> None:
    none = run("library", "duplicates")
    assert (none.exit_code, none.stdout) == (1, "no duplicates\n")
    shutil.copy(indexed / "red.png", indexed / "again.png")
    run("index", "--quiet")
    (row,) = rows(run("library", "duplicates", "--json"))
    assert sorted(Path(each["path"]).name for each in row["files"]) == ["again.png", "red.png"]  # type: ignore[attr-defined]
    assert "groups of duplicates: 1" in run("library", "duplicates").stdout


def test_reindex(indexed: Path, tmp_path: Path) -> None:
    other = write_tiny(tmp_path / "other", HEADS[1:]).path
    (row,) = rows(run("library", "reindex", "--model", other, "--json"))
    assert row["indexed"] == 3
    (shown,) = rows(run("library", "show", "--json"))
    assert shown["kinds"] == ["tagger", "retriever"]


def test_library_shows_exports_imports_forgets(indexed: Path, tmp_path: Path) -> None:
    shown = run("library", "show").stdout
    assert "3 images in 3 files" in shown
    assert "tiny" in shown
    table = tmp_path / "table.csv"
    table.write_text("file,caption\nphotos/blue.png,A capybara\n,nothing\n", encoding="utf-8")
    imported = run("library", "import", table)
    assert imported.exit_code == 3
    assert "1 images described" in imported.stdout
    assert "table.csv:3" in imported.stderr
    assert rows(run("search", "capybara", "--json"))[0]["path"] == str(indexed / "blue.png")
    assert "3 rows" in run("library", "export", tmp_path / "out.csv").stdout
    assert "3 sidecar files" in run("library", "export", "--xmp").stdout
    assert "nothing to write" in problem(run("library", "export"))
    assert run("library", "check").stdout == "no problems found\n"
    assert "3 images forgotten" in run("library", "forget", indexed).stdout
    assert run("library", "forget", indexed).exit_code == 1
    with_descriptions = run("index", indexed, "--quiet", "--descriptions", table)
    assert with_descriptions.exit_code == 3
    assert "table.csv:3" in with_descriptions.stderr
    assert rows(run("search", "capybara", "--json"))[0]["matches"] is True


def test_a_damaged_library_is_repaired(indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "library" / "library.db").write_bytes(b"rubbish" * 1000)
    assert "library check --repair" in problem(run("search", "red"))
    result = run("index", indexed, "--model", "tiny", "--quiet")
    assert "the library was damaged; rebuilt with" in result.stderr
    assert len(rows(run("search", "red", "--json"))) == 3
    (tmp_path / "library" / "library.db").write_bytes(b"rubbish" * 1000)
    damaged = run("library", "check")
    assert damaged.exit_code != 0
    assert "library check --repair" in problem(damaged)
    repaired = run("library", "check", "--repair")
    assert repaired.exit_code == 0
    assert "rebuilt:" in repaired.stdout
    assert run("index", indexed, "--model", "tiny", "--quiet").exit_code == 0
    assert run("library", "check").stdout == "no problems found\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_watch_prints_alerts_until_it_is_interrupted(indexed: Path) -> None:
    code = "from seetell.cli import main; main()"
    words = ["watch", str(indexed), "--alert", "wombat", "--every", "0.1"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as child:
        time.sleep(1.5)
        exif = Image.Exif()
        exif[0x010E] = "A wombat at night"
        Image.new("RGB", (30, 30), (1, 2, 3)).save(indexed / "night.jpg", exif=exif)
        assert child.stdout is not None
        row = json.loads(child.stdout.readline())
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    assert (row["alert"], row["path"]) == ("wombat", str(indexed / "night.jpg"))
    assert row["relevance"] >= 0.5
    assert "1 new" in errors
    assert "Traceback" not in errors


def test_times_of_since() -> None:
    assert parse_since(None) is None
    assert time.localtime(parse_since("2024-05-17T06:05"))[:5] == (2024, 5, 17, 6, 5)
    assert time.localtime(parse_since("2024-05"))[:3] == (2024, 5, 1)
    assert time.time() - (parse_since("2d") or 0) == pytest.approx(172_800, abs=5)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="these file systems know only text")
def test_odd_names_come_out_whole(photos: Path) -> None:
    odd = os.fsdecode(os.fsencode(photos) + b"/\xff\xfe.png")
    shutil.copy(photos / "red.png", odd)
    os.unlink(photos / "red.png")
    assert run("index", photos, "--model", "tiny", "--quiet").exit_code == 0
    (row,) = rows(run("search", "--tag", "red", "--json"))
    assert row["path"] == odd
    assert "��" in run("search", "--tag", "red").stdout
