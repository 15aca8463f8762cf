"""Tasks: what a model can be trained for, each with its data, loss, validation and evaluation.

`TASKS`, imported lazily, is the registry (`registry.py`): result pages read a task's figures without PyTorch.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seetell.learn.tasks.registry import TASKS, TaskEntry

__all__ = ["TASKS", "TaskEntry"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from seetell.learn.tasks import registry

    return getattr(registry, name)
