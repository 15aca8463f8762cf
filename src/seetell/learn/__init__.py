"""Train, evaluate and export models with PyTorch.

Everything here needs the extra `learn`; nothing outside this package imports PyTorch.

Example:
    >>> from seetell.learn import evaluate, load_recipe, train
    >>> small = ["encoder.name=test_efficientnet@random", "phases.epochs=1"]
    >>> recipe = load_recipe("bce", dataset="scenes", settings=small)
    >>> run = train(recipe, ["scenes:40"], "runs/tags", device="cpu")
    >>> run.best["epoch"]
    1
    >>> evaluate(run, "scenes:40", "val").images
    4
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from seetell.errors import MissingExtraError

if TYPE_CHECKING:
    from seetell.evaluation.options import EvaluationOptions
    from seetell.learn.exporting import ExportOptions, ModelInfo, export
    from seetell.learn.recipes import load_recipe
    from seetell.learn.training.evaluate import evaluate
    from seetell.learn.training.run import Run
    from seetell.learn.training.task import Evaluation
    from seetell.learn.training.train import train

if find_spec("torch") is None:
    raise MissingExtraError("PyTorch", "learn")

__all__ = [
    "Evaluation",
    "EvaluationOptions",
    "ExportOptions",
    "ModelInfo",
    "Run",
    "evaluate",
    "export",
    "load_recipe",
    "train",
]

_HOMES = {
    "Evaluation": "seetell.learn.training.task",
    "EvaluationOptions": "seetell.evaluation.options",
    "ExportOptions": "seetell.learn.exporting",
    "ModelInfo": "seetell.learn.exporting",
    "Run": "seetell.learn.training.run",
    "evaluate": "seetell.learn.training.evaluate",
    "export": "seetell.learn.exporting",
    "load_recipe": "seetell.learn.recipes",
    "train": "seetell.learn.training.train",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
