"""The examples in docstrings of the public API run, and print what they show."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest
from PIL import Image

import seetell
from helpers.tiny_bundles import write_colours

PACKAGES = (
    "data",
    "text",
    "progress",
    "runtime",
    "similarity",
    "decoding",
    "metrics",
    "images",
    "evaluation",
    "errors",
    "settings",
    "files",
    "util",
)
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


@pytest.mark.parametrize(
    "name",
    [
        *(f"data.{each}" for each in ("open_dataset", "Dataset", "check")),
        *(f"text.{each}" for each in ("Vocabulary", "WordVectors", "by_name", "detokenise", "ptb", "words")),
        *(f"runtime.{each}" for each in ("open_model", "Model", "Captioner", "Tagger", "Retriever", "CaptionResult")),
        *(f"similarity.{each}" for each in ("Cosine", "Order", "Euclidean", "by_name")),
        *(f"decoding.{each}" for each in ("greedy", "beam_search", "sample", "Rules", "label_confidences")),
        *(
            f"metrics.{each}"
            for each in ("caption_scores", "label_scores", "retrieval_scores", "Cider", "diversity", "flatten_metrics")
        ),
    ],
)
def test_public_names_have_an_example(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    text = getattr(importlib.import_module(f"seetell.{module}"), attribute).__doc__
    assert "Example:" in text
    assert ">>>" in text


def test_the_first_page_of_help_names_what_there_is() -> None:
    for name in ("open_model", "captioner", "tagger", "retriever", "Library", "open_dataset", "SeetellError"):
        assert name in (seetell.__doc__ or "")
