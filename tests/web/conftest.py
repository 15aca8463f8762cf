"""A library of twelve coloured images, and a server over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.tiny_bundles import write_colours
from helpers.web_server import Served, paint_all, running
from seetell.library import Library
from seetell.web import Access


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tells, names and finds colours, and says where it looked."""
    return write_colours(tmp_path_factory.mktemp("bundles") / "colours").path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return paint_all(tmp_path / "photos")


@pytest.fixture(autouse=True)
def _own_bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed here or built in: a test sees only what it adds."""
    monkeypatch.setattr("seetell.bundle.registry.builtin_folder", lambda: tmp_path / "none")
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "added"))


@pytest.fixture
def library(tmp_path: Path, bundle: Path, photos: Path) -> Iterator[Library]:
    with Library.open(tmp_path / "library", bundle=bundle, threads=1) as opened:
        opened.update([photos])
        yield opened


@pytest.fixture
def own(library: Library) -> Iterator[Served]:
    """The twelve images, on loopback, for a test that changes something."""
    with running(library, Access.to("127.0.0.1")) as server:
        yield server


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Iterator[Served]:
    """The same for all tests of a file that change nothing."""
    folder = tmp_path_factory.mktemp("served")
    with Library.open(folder / "library", bundle=bundle, threads=1) as opened:
        opened.update([paint_all(folder / "photos")])
        with running(opened, Access.to("127.0.0.1")) as server:
            yield server
