"""The examples in the docstrings of `seetell.library` run, and print what they show."""

import doctest
import importlib
import inspect
import shutil
from pathlib import Path

import pytest
from PIL import Image

import seetell.library
from helpers.tiny_bundles import write_colours, write_tiny
from seetell.library import Filters, Library

MODULES = ("filters", "library", "location", "queries", "records", "search.relevance")
EXAMPLES = [
    example
    for name in MODULES
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(f"seetell.library.{name}"))
    if example.examples
]
COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "grey": (90, 90, 90)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three photos in a library, a new one, a table, and two models."""
    folder = tmp_path_factory.mktemp("examples")
    builtin = write_colours(folder / "builtin" / "colours").path
    write_tiny(folder / "models" / "other")
    for name, colour in COLOURS.items():
        path = folder / ("NEW" if name == "grey" else "PHOTOS") / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (40, 30), colour).save(path)
    (folder / "table.csv").write_text("file,caption\nred.png,My car\nblue.png,Sky\ncat.png,Cat\n", encoding="utf-8")
    with Library.open(folder / "prepared", model=builtin) as library:
        library.update([folder / "PHOTOS"])
    return folder


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name.removeprefix("seetell.library."))
def test_examples(example: doctest.DocTest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seetell.bundle.registry.builtin_folder", lambda: folder / "builtin")
    monkeypatch.setenv("SEETELL_MODELS", str(folder / "models"))
    monkeypatch.chdir(folder)
    for old in ("holiday.library", "new.library"):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree("prepared", "holiday.library")
    with Library.open("holiday.library") as library:
        example.globs.update(library=library, Library=Library, Filters=Filters)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        assert runner.run(example).failed == 0


def test_every_public_method_has_an_example() -> None:
    for name, method in inspect.getmembers(Library, callable):
        if not name.startswith("_") and name not in ("close", "content_hashes"):
            text = inspect.getdoc(method) or ""
            assert "Example:\n    >>> " in text, name
            parameters = set(inspect.signature(method).parameters) - {"self"}
            assert all(f"    {parameter}: " in text for parameter in parameters), name
    for name in seetell.library.__all__:
        public = getattr(seetell.library, name)
        if inspect.isclass(public):
            assert public.__doc__, name
            assert not public.__doc__.startswith(f"{name}("), name  # written by hand, not by dataclass
