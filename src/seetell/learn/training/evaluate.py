"""Evaluate a run on a split of a dataset."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seetell.data import Dataset
from seetell.errors import SeetellError
from seetell.evaluation.options import EvaluationOptions
from seetell.files import AnyPath
from seetell.learn.tasks.registry import TASKS
from seetell.learn.training.features import open_data
from seetell.learn.training.run import Run
from seetell.learn.training.task import Evaluation
from seetell.progress import SILENT, Progress
from seetell.util import sample_evenly


def evaluate(
    run: Run | AnyPath,
    data: str | Sequence[str] | Dataset,
    split: str = "test",
    options: EvaluationOptions = EvaluationOptions(),  # noqa: B008
    *,
    store: Path | None = None,
    progress: Progress = SILENT,
) -> Evaluation:
    """Score the best model of a run.

    Args:
        run: a run, or its folder.
        data: an address as `open_dataset` takes it, several that are evaluated together, or a dataset.
        split: the split to evaluate.
        options: see `EvaluationOptions`.
        store: the folder of feature stores; None: the default.

    Example:
        >>> evaluation = evaluate("runs/tags", "scenes:40", "val")
        >>> evaluation.images
        4
        >>> 0 <= evaluation.metrics["f1_of_means"] <= 100
        True
    """
    run = run if isinstance(run, Run) else Run.open(run)
    if options.length is not None and run.recipe.task != "captioning":
        raise SeetellError("--length applies to captioning runs only", where=str(run.path), remedy="Leave it out")
    if options.rerank_weight is not None:
        raise SeetellError(
            "--rerank-weight applies to exported models only", where=str(run.path), remedy="Export the run first"
        )
    dataset = data if isinstance(data, Dataset) else open_data([data] if isinstance(data, str) else data)
    if options.limit is not None:
        kept = set(map(id, sample_evenly(dataset.split(split), options.limit)))
        dataset = replace(dataset, records=tuple(r for r in dataset.records if r.split != split or id(r) in kept))
    encoded = run.encode(dataset, split, store=store, progress=progress)
    return TASKS[run.recipe.task].evaluate(run, encoded, split, options)
