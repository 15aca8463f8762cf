"""The examples in docstrings give what they promise."""

import doctest
import importlib
import pkgutil

import pytest

import seetell
from seetell.data.open import open_dataset

COVERED = (
    *("seetell.errors", "seetell.files", "seetell.settings", "seetell.util", "seetell.progress"),
    *("seetell.data", "seetell.text", "seetell.similarity", "seetell.decoding", "seetell.metrics"),
)


def modules() -> list[str]:
    found = (module.name for module in pkgutil.walk_packages(seetell.__path__, "seetell.", onerror=lambda name: None))
    return sorted(name for name in found if name.startswith(COVERED))


def examples(name: str) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(importlib.import_module(name)) if test.examples]


@pytest.mark.parametrize("name", modules())
def test_examples(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    for test in examples(name):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_open_dataset_has_an_example() -> None:
    (example,) = doctest.DocTestFinder().find(open_dataset, "open_dataset")
    assert len(example.examples) >= 4
