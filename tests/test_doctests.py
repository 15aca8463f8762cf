"""The examples in docstrings of the public API run, and print what they show."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from PIL import Image

import seetell
from helpers.tiny_bundles import write_colours

PACKAGES = (
    *("errors", "files", "settings", "util", "progress", "images", "text", "data"),
    *("similarity", "decoding", "metrics", "bundle", "runtime", "evaluation", "figures"),
)
UNTESTED = ("Meteor", "Library")  # needs Java; is tested with the library
COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}


def modules() -> list[str]:
    found = []
    for package in PACKAGES:
        module = importlib.import_module(f"seetell.{package}")
        found.append(module.__name__)
        for path in getattr(module, "__path__", ()):
            found += [each.name for each in pkgutil.walk_packages([path], f"{module.__name__}.")]
    return found


@pytest.mark.parametrize("name", modules())
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a toy as the built-in model, which captions, tags and finds colours."""
    write_colours(tmp_path / "builtin" / "colours")
    monkeypatch.setattr("seetell.bundle.registry.builtin_folder", lambda: tmp_path / "builtin")
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    for colour, values in COLOURS.items():
        Image.new("RGB", (40, 30), values).save(tmp_path / f"{colour}.png")
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def public_names() -> list[str]:
    """The classes and functions that `seetell` and its public packages export, protocols and errors excepted."""
    found = []
    for package in ("seetell", "seetell.runtime", "seetell.decoding", "seetell.metrics", "seetell.similarity"):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ("Cosine", "Order", "Euclidean", "by_name")):
            value = getattr(module, name)
            special = getattr(value, "_is_protocol", False) or name.endswith("Error") or name in UNTESTED
            if (inspect.isclass(value) or inspect.isfunction(value)) and not special:
                found.append(f"{package}:{name}")
    return found


@pytest.mark.parametrize("name", public_names())
def test_public_names_have_an_example(name: str) -> None:
    module, _, attribute = name.partition(":")
    text = getattr(importlib.import_module(module), attribute).__doc__
    assert "Example:" in text
    assert ">>>" in text


def test_open_dataset_has_an_example() -> None:
    (example,) = doctest.DocTestFinder().find(seetell.open_dataset, "open_dataset")
    assert len(example.examples) >= 4


def test_the_first_page_of_help_names_what_there_is() -> None:
    for name in ("open_model", "captioner", "tagger", "retriever", "Library", "open_dataset", "SeetellError"):
        assert name in (seetell.__doc__ or "")
