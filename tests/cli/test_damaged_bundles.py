"""Whatever is wrong with a bundle, every command says so in one line and exits with 2; none runs anything of it."""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from helpers import tiny_bundles as tiny
from seetell.cli import main

Refused = Callable[..., str]
VERBS = ("caption", "tag", "similar", "evaluate", "show", "add")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_tiny(tmp_path_factory.mktemp("bundle") / "tiny").path


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return tiny.copy(whole, tmp_path / "b")


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """What a command says of a bundle that it refuses. A traceback would be an exception that leaves `main`."""
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "added"))
    image = tmp_path / "red.png"
    Image.new("RGB", (20, 12), (240, 20, 20)).save(image)

    def call(bundle: Path, command: str = "caption") -> str:
        arguments = {
            "caption": ["caption", image, "--model", bundle],
            "tag": ["tag", image, "--model", bundle, "--json"],
            "similar": ["similar", image, "red", "--model", bundle],
            "evaluate": ["evaluate", bundle, "--data", "scenes:20"],
            "show": ["models", "show", bundle],
            "add": ["models", "add", bundle],
        }[command]
        monkeypatch.setattr(sys, "argv", ["seetell", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        assert (caught.value.code, printed.out) == (2, ""), (command, printed)
        *before, line = printed.err.splitlines()
        assert not before or command == "evaluate"  # which shows progress
        assert line.startswith(f"seetell: {bundle}")
        assert not (tmp_path / "added").exists()
        return line

    return call


def flip(path: Path, offset: int) -> bytes:
    good = path.read_bytes()
    path.write_bytes(good[:offset] + bytes([good[offset] ^ 0xFF]) + good[offset + 1 :])
    return good


def check_flips(damaged: Path, refused: Refused, step: int) -> None:
    path = damaged / "bundle.json"
    for turn, offset in enumerate(range(0, path.stat().st_size, step)):
        good = flip(path, offset)
        refused(damaged, VERBS[turn % len(VERBS)])
        path.write_bytes(good)


def test_flipped_bytes_of_the_description(damaged: Path, refused: Refused) -> None:
    check_flips(damaged, refused, step=61)


@pytest.mark.slow
def test_every_flipped_byte_of_the_description(damaged: Path, refused: Refused) -> None:
    check_flips(damaged, refused, step=1)


@pytest.mark.parametrize("command", VERBS)
def test_truncated_graphs_and_wrong_hashes(command: str, damaged: Path, refused: Refused) -> None:
    for name in sorted(tiny.files()):
        path = damaged / name
        good = path.read_bytes()
        for size in (0, len(good) // 2, len(good) - 1):
            path.write_bytes(good[:size])
            assert f"{path}: this file is damaged" in refused(damaged, command)
        path.write_bytes(good)
        flip(path, len(good) // 2)
        assert f"{path}: this file is damaged" in refused(damaged, command)
        path.unlink()
        assert f"{path}: this file is missing" in refused(damaged, command)
        path.write_bytes(good)


@pytest.mark.parametrize("name", ["../../red.png", "/etc/passwd", "con.onnx", "encoder.py", "a/b.onnx", "ENCODER.onnx"])
def test_names_that_lead_elsewhere(name: str, damaged: Path, refused: Refused) -> None:
    def change(content: Any) -> None:
        content["encoder"]["graph"] = name
        content["files"][name] = content["files"].pop("encoder.onnx")

    tiny.forge(damaged, change)
    for command in VERBS:
        assert "not a valid name for a" in refused(damaged, command)


@pytest.mark.skipif(os.name == "nt", reason="making links needs rights on Windows")
def test_links(damaged: Path, refused: Refused, whole: Path) -> None:
    (damaged / "encoder.onnx").unlink()
    (damaged / "encoder.onnx").symlink_to(whole / "encoder.onnx")
    for command in VERBS:
        assert "link" in refused(damaged, command)


@pytest.mark.parametrize(
    ("command", "name"), [("caption", "step"), ("tag", "tags"), ("similar", "texts"), ("evaluate", "encoder")]
)
@pytest.mark.parametrize("kind", ["rubbish", "cut", "other"])
def test_graphs_that_pass_as_whole_but_cannot_be_used(
    command: str, name: str, kind: str, damaged: Path, refused: Refused
) -> None:
    """Sizes and hashes are right: whoever made the bundle made it wrong."""
    good = tiny.files()[f"{name}.onnx"]
    data = {"rubbish": b"\x3a\x00", "cut": good[: len(good) // 2], "other": tiny.start()}[kind]
    (damaged / f"{name}.onnx").write_bytes(data)
    right = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    tiny.forge(damaged, lambda content: content["files"].update({f"{name}.onnx": right}))
    assert f"{name}.onnx: this graph" in refused(damaged, command)
