"""`seetell evaluate`: a model's scores on a split of a dataset."""

from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from seetell.errors import SeetellError


def evaluate(
    model: Annotated[Path, typer.Argument(help="A run's folder, or a bundle's folder or name.")],
    data: Annotated[list[str], typer.Option("--data", help="A dataset; several are evaluated together.")],
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    folds: Annotated[int, typer.Option(help="Retrieval: cut the split into so many parts and average over them.")] = 1,
    beam: Annotated[int, typer.Option(help="Captions, label sequences: how many beams; 0 takes the recipe's.")] = 0,
    length: Annotated[
        float | None, typer.Option(help="Captions of a run: the exponent of beam search's length; else the recipe's.")
    ] = None,
    rerank_weight: Annotated[
        float | None,
        typer.Option(help="Captions of a bundle: how much it counts that they fit the image; else as it says."),
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Of a run: a folder for a page that shows what it tells, tags or finds.")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="Where features are kept.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score a trained model."""
    import json

    if not (model / "run.json").exists():
        if length is not None:
            _refuse(model, "--length", "caption")
        if sheet is not None:
            raise SeetellError("--sheet is for runs only", where=str(model), remedy="Evaluate the run it was made of")
        reports = _of_bundle(
            model, data, split, {"folds": folds, "beam": beam or None, "rerank_weight": rerank_weight}, quiet=as_json
        )
    else:
        if rerank_weight is not None:
            raise SeetellError("--rerank-weight is for bundles only", where=str(model), remedy="Export the run first")
        options = {"folds": folds, "beam": beam, "sheet": sheet, **({} if length is None else {"alpha": length})}
        reports = [_of_run(model, data, split, options, store, quiet=as_json)]
    for report in reports:
        whole = {"model": str(model), **report, "data": data, "split": split}
        if as_json:
            typer.echo(json.dumps(whole, ensure_ascii=False))
            continue
        name = report.get("recipe") or report["kind"]
        typer.echo(f"{model} ({name}) on {', '.join(data)}, split {split}: {report['protocol']}")
        for line in lines(report["metrics"]):
            typer.echo(line)
        if unseen := report.get("unseen_words"):
            typer.echo(f"  {unseen.pop('captions'):,} captions with a word that no training caption has; the others:")
            for line in lines(unseen, "    "):
                typer.echo(line)
    if sheet and not as_json:
        typer.echo(f"Examples: {sheet}")


def _refuse(path: Path, option: str, runs: str) -> NoReturn:
    raise SeetellError(f"{option} is for {runs} runs only", where=str(path), remedy="Leave it out")


def _of_run(
    path: Path, data: list[str], split: str, options: dict[str, Any], store: Path | None, *, quiet: bool
) -> dict[str, Any]:
    from seetell.learn.training.run import Run, find_task
    from seetell.progress import for_terminal

    run = Run.open(path)
    if "alpha" in options and run.recipe.task != "captioning":
        _refuse(path, "--length", "caption")
    training_data = run.training_data(data, split, root=store, progress=for_terminal(quiet=quiet))
    return {"recipe": run.recipe.name, **find_task(run.recipe.task).evaluate(run, training_data, split, options)}


def _of_bundle(
    path: Path, data: list[str], split: str, options: dict[str, Any], *, quiet: bool
) -> list[dict[str, Any]]:
    """A report for each head of the bundle; without PyTorch."""
    from seetell.data import open_dataset, union
    from seetell.evaluation import EvaluationOptions, evaluate_bundle
    from seetell.progress import for_terminal
    from seetell.runtime import open_model

    if path.is_dir() and not (path / "bundle.json").exists():
        raise SeetellError(
            "this is neither a run nor a bundle",
            where=str(path),
            remedy="Name a folder that `seetell learn train` or `seetell learn export` wrote",
        )
    datasets = [open_dataset(spec) for spec in data]
    dataset = datasets[0] if len(datasets) == 1 else union(datasets)
    with open_model(path) as model:
        if options["rerank_weight"] and "retriever" not in model.kinds:
            raise SeetellError("this bundle cannot match", where=str(path), remedy="Leave out --rerank-weight")
        reports = evaluate_bundle(
            model, dataset, split, EvaluationOptions(**options), progress=for_terminal(quiet=quiet)
        )
    return [{"kind": kind, **report} for kind, report in reports.items()]


def lines(metrics: dict[str, Any], indent: str = "  ") -> list[str]:
    """Nested metrics, one a line; a group of plain numbers takes one line."""
    printed = []
    for name, value in metrics.items():
        if isinstance(value, dict) and all(isinstance(each, float | int) for each in value.values()):
            printed.append(f"{indent}{name}: " + ", ".join(f"{key} {each:.1f}" for key, each in value.items()))
        elif isinstance(value, dict):
            printed += [f"{indent}{name}:", *lines(value, indent + "  ")]
        elif isinstance(value, float | int):
            printed.append(f"{indent}{name}: {value:.2f}")
        else:
            printed.append(f"{indent}{name}: {value}")
    return printed
