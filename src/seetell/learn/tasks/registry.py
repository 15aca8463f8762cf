"""Tasks: what a model can be trained for, each with its data, loss, validation and evaluation.

`TASKS` is the registry: `TASKS[recipe.task].setup(data)` makes what the training loop trains.
"""

from collections.abc import Callable
from dataclasses import dataclass

from seetell.evaluation.options import EvaluationOptions
from seetell.learn.recipes import Recipe
from seetell.learn.tasks.captioning import evaluate as captioning_evaluation
from seetell.learn.tasks.captioning import task as captioning
from seetell.learn.tasks.retrieval import evaluate as retrieval_evaluation
from seetell.learn.tasks.retrieval import task as retrieval
from seetell.learn.tasks.tagging import evaluate as tagging_evaluation
from seetell.learn.tasks.tagging import task as tagging
from seetell.learn.training.data import TrainingData
from seetell.learn.training.run import Run
from seetell.learn.training.task import Evaluation, Setup


@dataclass(frozen=True)
class TaskEntry:
    """One task.

    Args:
        setup: makes the model, its loss and its batches from the training data.
        evaluate: scores a run's best model on a split.
        check: raises a `RecipeError` for a recipe that can be read, but not trained; called before anything is encoded.
    """

    setup: Callable[[TrainingData], Setup]
    evaluate: Callable[[Run, TrainingData, str, EvaluationOptions], Evaluation]
    check: Callable[[Recipe], None] = lambda recipe: None


TASKS: dict[str, TaskEntry] = {
    "retrieval": TaskEntry(retrieval.setup, retrieval_evaluation.evaluate),
    "captioning": TaskEntry(captioning.setup, captioning_evaluation.evaluate, captioning.check),
    "tagging": TaskEntry(tagging.setup, tagging_evaluation.evaluate),
}
