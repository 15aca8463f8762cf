"""`seetell serve` as people call it."""

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from helpers.tiny_bundles import write_tiny
from seetell.cli import app
from seetell.errors import SeetellError
from seetell.web import bind
from seetell.web.server import address


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEETELL_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "bundles"))
    monkeypatch.setattr("seetell.bundle.registry.builtin_folder", lambda: tmp_path / "none")
    monkeypatch.delenv("SEETELL_TOKEN", raising=False)
    write_tiny(tmp_path / "bundles" / "tiny")
    (tmp_path / "photos").mkdir()
    for number, colour in enumerate([(240, 20, 20), (20, 240, 20), (20, 20, 240)]):
        Image.new("RGB", (40, 30), colour).save(tmp_path / "photos" / f"{number}.png")
    return tmp_path / "photos"


@pytest.fixture
def serving(photos: Path, request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and the address that it printed."""
    command = [sys.executable, "-m", "seetell.cli", "serve", str(photos), "--bundle", "tiny", "--port", "0"]
    process = subprocess.Popen([*command, *getattr(request, "param", ())], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def ask(where: str, path: str, **headers: str) -> tuple[int, bytes]:
    found = re.fullmatch(r"http://([\d.]+):(\d+)/.*", where)
    assert found, where
    connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_what_it_indexes_until_it_is_told_to_stop(
    serving: tuple[subprocess.Popen[str], str], number: signal.Signals
) -> None:
    process, where = serving
    end = time.monotonic() + 30
    while b'"images":3' not in ask(where, "/api/library")[1]:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert ask(where, "/")[0] == 200
    # Somebody watches: that must not hold up the end.
    found = re.findall(r"\d+", where)
    watcher = http.client.HTTPConnection("127.0.0.1", int(found[-1]), timeout=20)
    watcher.request("GET", "/api/events")
    assert watcher.getresponse().status == 200
    process.send_signal(number)
    assert process.wait(10) == 0
    watcher.close()


@pytest.mark.parametrize("serving", [("--host", "0.0.0.0")], indirect=True)
def test_elsewhere_than_on_loopback_it_prints_a_token(serving: tuple[subprocess.Popen[str], str]) -> None:
    _, where = serving
    token = re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=([\w-]{32,})", where)
    assert token, where
    assert ask(where, "/api/library")[0] == 401
    assert ask(where, "/api/library", Authorization=f"Bearer {token[1]}")[0] == 200


def test_mistakes_are_told_before_anything_is_made(photos: Path, tmp_path: Path) -> None:
    for arguments, says in {
        (str(photos / "none"),): "no such folder",
        ("--bundle", "tinny"): "Did you mean tiny",
        ("--host", "0.0.0.0", "--token", "short"): "shorter than 16",
        (str(photos),): "no built-in bundle",
    }.items():
        result = CliRunner().invoke(app, ["serve", *arguments])
        assert isinstance(result.exception, SeetellError), result.output
        assert says in str(result.exception)


def test_a_library_of_another_bundle_is_refused_at_once(photos: Path, tmp_path: Path) -> None:
    write_tiny(tmp_path / "bundles" / "finder", ("retriever",))
    assert CliRunner().invoke(app, ["index", str(photos), "--bundle", "tiny", "--quiet"]).exit_code == 0
    result = CliRunner().invoke(app, ["serve", "--bundle", "finder"])
    assert "cannot be compared" in str(result.exception)


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(SeetellError, match="cannot be had"):
            bind("127.0.0.1", port)
        monkeypatch.setattr("seetell.web.server.PORT", port)
        with bind("127.0.0.1") as second:  # not asked for: any will do
            assert second.getsockname()[1] not in (0, port)
            assert address(second, "0.0.0.0") == f"http://127.0.0.1:{second.getsockname()[1]}/"


def test_the_command_line_does_not_load_the_server() -> None:
    code = "import sys, seetell.cli; print([name for name in ('fastapi', 'uvicorn', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
