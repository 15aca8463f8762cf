"""A library of twelve coloured images, a server for it, and a browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from helpers.tiny_bundles import write_colours
from helpers.web_server import RunningServer, run_server, save_photos
from seetell.library import Library

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that captions, tags and finds colours, with attention."""
    return write_colours(tmp_path_factory.mktemp("bundles") / "colours").path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return save_photos(tmp_path / "photos")


@pytest.fixture(autouse=True)
def _only_own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sees only the models it adds, whatever is installed or built in."""
    monkeypatch.setattr("seetell.bundle.registry.builtin_folder", lambda: tmp_path / "none")
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "added"))


@pytest.fixture
def library(tmp_path: Path, bundle: Path, photos: Path) -> Iterator[Library]:
    with Library.open(tmp_path / "library", model=bundle, threads=1) as opened:
        opened.update([photos])
        yield opened


@pytest.fixture
def private_server(library: Library) -> Iterator[RunningServer]:
    """A server with twelve images, for a test that changes something."""
    with run_server(library) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Iterator[RunningServer]:
    """A server with twelve images, shared by the tests of a file that change nothing."""
    folder = tmp_path_factory.mktemp("shared")
    with Library.open(folder / "library", model=bundle, threads=1) as opened:
        opened.update([save_photos(folder / "photos")])
        with run_server(opened) as running:
            yield running


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """One Chromium per file: Playwright keeps an event loop running, in which no other test could start its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """A page that must not log errors or violations of the content security policy."""
    context = browser.new_context(viewport={"width": 1000, "height": 700}, reduced_motion="reduce")
    context.set_default_timeout(15_000)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
    assert not [each for each in errors if "Failed to load resource" not in each], errors
