"""`seetell serve` on the command line."""

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

import seetell
from helpers.tiny_bundles import write_tiny
from seetell.cli import app
from seetell.errors import SeetellError
from seetell.web import bind
from seetell.web.server import page_url


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
    """A server in its own process, and the URL it printed."""
    command = [sys.executable, "-m", "seetell.cli", "serve", str(photos), "--model", "tiny", "--port", "0"]
    process = subprocess.Popen([*command, *getattr(request, "param", ())], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def get(url: str, path: str, **headers: str) -> tuple[int, bytes]:
    found = re.fullmatch(r"http://([\d.]+):(\d+)/.*", url)
    assert found, url
    connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_indexes_and_serves_until_a_signal_stops_it(
    serving: tuple[subprocess.Popen[str], str], number: signal.Signals
) -> None:
    process, url = serving
    end = time.monotonic() + 30
    while b'"images":3' not in get(url, "/api/v1/library")[1]:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert get(url, "/")[0] == 200
    # An open event stream must not delay the shutdown.
    found = re.findall(r"\d+", url)
    watcher = http.client.HTTPConnection("127.0.0.1", int(found[-1]), timeout=20)
    watcher.request("GET", "/api/v1/events")
    assert watcher.getresponse().status == 200
    process.send_signal(number)
    assert process.wait(10) == 0
    watcher.close()


@pytest.mark.parametrize("serving", [("--host", "0.0.0.0")], indirect=True)
def test_a_remote_address_has_a_token(serving: tuple[subprocess.Popen[str], str]) -> None:
    _, url = serving
    token = re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=([\w-]{32,})", url)
    assert token, url
    assert get(url, "/api/v1/library")[0] == 401
    assert get(url, "/api/v1/library", Authorization=f"Bearer {token[1]}")[0] == 200


def test_mistakes_are_reported_before_anything_is_created(photos: Path, tmp_path: Path) -> None:
    for arguments, message in {
        (str(photos / "none"),): "no such folder",
        ("--model", "tinny"): "Did you mean 'tiny'",
        ("--host", "0.0.0.0", "--token", "short"): "shorter than 16",
        (str(photos),): "no built-in model",
    }.items():
        result = CliRunner().invoke(app, ["serve", *arguments])
        assert isinstance(result.exception, SeetellError), result.output
        assert message in str(result.exception)


def test_a_library_of_another_model_is_refused_at_once(photos: Path, tmp_path: Path) -> None:
    write_tiny(tmp_path / "bundles" / "finder", ("retriever",))
    assert CliRunner().invoke(app, ["index", str(photos), "--model", "tiny", "--quiet"]).exit_code == 0
    result = CliRunner().invoke(app, ["serve", "--model", "finder"])
    assert "cannot be compared" in str(result.exception)


def test_a_taken_port_is_reported_and_the_default_one_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(SeetellError, match="cannot bind to this address"):
            bind("127.0.0.1", port)
        monkeypatch.setattr("seetell.web.server.DEFAULT_PORT", port)
        with bind("127.0.0.1") as second:  # none was requested: any free one
            assert second.getsockname()[1] not in (0, port)
            assert page_url(second, "0.0.0.0") == f"http://127.0.0.1:{second.getsockname()[1]}/"


SERVER_PACKAGES = ("fastapi", "pydantic", "starlette", "uvicorn")
RUN = """
from typer.testing import CliRunner
from seetell.cli import app
for command in {commands}:
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, (command, result.output, result.exception)
"""


def loaded_by(code: str) -> list[str]:
    """The server's packages that a Python program imports."""
    report = f"print('loaded', *[name for name in {SERVER_PACKAGES} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", f"import sys\n{code}\n{report}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


def test_importing_the_package_does_not_load_the_server() -> None:
    assert loaded_by("import seetell, seetell.library, seetell.runtime, seetell.evaluation") == []
    assert loaded_by("import seetell.web") == list(SERVER_PACKAGES)


def test_help_does_not_load_the_server() -> None:
    assert loaded_by(RUN.format(commands=[["--help"]])) == []


def test_other_commands_do_not_load_the_server(photos: Path) -> None:
    image = str(photos / "0.png")
    commands = [
        ["index", str(photos), "--quiet"],
        ["caption", image],
        ["tag", image],
        ["search", "a"],
        ["serve", "--help"],
    ]
    # Recent versions of Typer use pydantic themselves, to convert arguments.
    assert set(loaded_by(RUN.format(commands=[*commands, ["library", "show"]]))) <= {"pydantic"}


def test_only_the_web_package_and_serve_import_the_server() -> None:
    package = Path(seetell.__file__).parent
    server = re.compile(rf"^ *(?:from|import) (?:{'|'.join(SERVER_PACKAGES)}|seetell\.web)\b", re.MULTILINE)
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if server.search(path.read_text(encoding="utf-8")) and "web" not in path.relative_to(package).parts
    }
    assert found == {"cli/serve.py"}
