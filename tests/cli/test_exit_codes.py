"""The exit codes, one table for all commands: 0 done, 1 nothing found, 2 error, 3 done in part, 130 interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from helpers.tiny_bundles import write_tiny
from seetell.cli import app, main
from seetell.cli.exit_codes import MEANINGS, ExitCode
from seetell.errors import SeetellError


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEETELL_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "models"))
    write_tiny(tmp_path / "models" / "tiny")
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (40, 30), (240, 20, 20)).save(tmp_path / "photos" / "red.png")
    return tmp_path / "photos"


def code_of(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of the program itself, `main`."""
    monkeypatch.setattr(sys, "argv", ["seetell", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_the_table() -> None:
    assert {code.value: meaning for code, meaning in MEANINGS.items()} == {
        0: "done",
        1: "nothing found",
        2: "error or wrong usage",
        3: "done in part",
        130: "interrupted",
    }
    help_text = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    for code, meaning in MEANINGS.items():
        assert f"{code.value} {meaning}" in help_text


def test_done(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code_of("caption", photos, "--model", "tiny", monkeypatch=monkeypatch) == ExitCode.DONE
    assert code_of("index", photos, "--model", "tiny", "--quiet", monkeypatch=monkeypatch) == ExitCode.DONE
    assert code_of("search", "--tag", "red", monkeypatch=monkeypatch) == ExitCode.DONE


def test_nothing_found(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code_of("index", photos, "--model", "tiny", "--quiet", monkeypatch=monkeypatch)
    assert code_of("search", "quokka", monkeypatch=monkeypatch) == ExitCode.NOTHING_FOUND
    assert code_of("search", "--tag", "zebra", "--json", monkeypatch=monkeypatch) == ExitCode.NOTHING_FOUND
    assert code_of("library", "duplicates", monkeypatch=monkeypatch) == ExitCode.NOTHING_FOUND
    # Rows that do not match are results where they were asked for.
    assert code_of("search", "quokka", "--json", monkeypatch=monkeypatch) == ExitCode.DONE


@pytest.mark.parametrize(
    "arguments",
    [
        ["caption", "absent.jpg", "--model", "nonesuch"],
        ["caption", "absent.jpg", "--model", "tiny"],
        ["caption", "--sidecar", "doc", "absent.jpg"],
        ["search", "red"],
        ["search", "red", "-k", "0"],
        ["tag", "absent.jpg", "--threshold", "2"],
        ["caption", "absent.jpg", "--threads", "0"],
        ["check", "nonesuch:3"],
        ["nonesuch"],
        ["caption", "--nonesuch"],
    ],
)
def test_errors_and_wrong_usage(photos: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(photos.parent)
    assert code_of(*arguments, monkeypatch=monkeypatch) == ExitCode.ERROR


def test_a_bug_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("seetell.data.open_dataset", broken)
    assert code_of("check", "scenes:8", monkeypatch=monkeypatch) == ExitCode.ERROR
    assert "Traceback" in capsys.readouterr().err


def test_done_in_part(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff")
    for command in ("caption", "tag", "index"):
        assert code_of(command, photos, "--model", "tiny", "--quiet", monkeypatch=monkeypatch) == ExitCode.PARTIAL
    # With nothing readable at all, it is an error.
    broken = photos / "broken.jpg"
    for command in ("caption", "tag"):
        assert code_of(command, broken, "--model", "tiny", monkeypatch=monkeypatch) == ExitCode.ERROR


def test_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("seetell.data.open_dataset", interrupted)
    assert code_of("check", "scenes:8", monkeypatch=monkeypatch) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "seetell: interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_a_command_with_130() -> None:
    command = [sys.executable, "-m", "seetell.cli", "check", "scenes:100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert "Traceback" not in errors


@pytest.mark.skipif(os.name == "nt", reason="pipes")
def test_a_closed_pipe_is_quiet(photos: Path) -> None:
    for number in range(20):
        Image.new("RGB", (40, 30), (number, 20, 20)).save(photos / f"{number}.png")
    command = [sys.executable, "-m", "seetell.cli", "tag", str(photos), "--model", "tiny"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 141


def test_errors_reach_python_callers_unchanged() -> None:
    assert isinstance(CliRunner().invoke(app, ["check", "nonesuch:3"]).exception, SeetellError)
