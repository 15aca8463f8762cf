"""`seetell evaluate`: a model's scores on a split of a dataset."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seetell.errors import SeetellError

if TYPE_CHECKING:
    from seetell.evaluation import EvaluationOptions


def evaluate(
    model: Annotated[Path, typer.Argument(help="A run's folder, or a model's name or folder.")],
    data: Annotated[list[str], typer.Option("--data", help="A dataset; several are evaluated together.")],
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    folds: Annotated[
        int, typer.Option(min=1, help="Retrieval: split the images into this many parts and average over them.")
    ] = 1,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Captions, label sequences: beam width; by default the model's own.")
    ] = None,
    length: Annotated[
        float | None,
        typer.Option(min=0, max=10, help="Captions: exponent of length normalisation; by default the model's own."),
    ] = None,
    rerank_weight: Annotated[
        float | None,
        typer.Option(min=0, help="Captions of an exported model: weight of image–text similarity; by default its own."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Evaluate at most this many images, evenly spaced.")] = None,
    sheet: Annotated[Path | None, typer.Option(help="Runs only: a folder for pages that show examples.")] = None,
    store: Annotated[Path | None, typer.Option(help="The folder of feature stores.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score a trained model."""
    import json

    from seetell.evaluation import EvaluationOptions

    options = EvaluationOptions(
        folds=folds, beam=beam, length=length, rerank_weight=rerank_weight, limit=limit, sheet=sheet
    )
    if (model / "run.json").exists():
        reports = [_of_run(model, data, split, options, store, quiet=as_json)]
    else:
        reports = _of_bundle(model, data, split, options, quiet=as_json)
    for report in reports:
        if as_json:
            typer.echo(json.dumps({"model": str(model), **report, "data": data, "split": split}, ensure_ascii=False))
        else:
            name = report.get("recipe") or report["kind"]
            typer.echo(f"{model} ({name}) on {', '.join(data)}, split {split}: {report['protocol']}")
            _print(report)
    if sheet is not None and not as_json:
        typer.echo(f"Examples: {sheet}")


def _of_run(
    path: Path, data: list[str], split: str, options: "EvaluationOptions", store: Path | None, *, quiet: bool
) -> dict[str, Any]:
    from seetell.learn import Run
    from seetell.learn import evaluate as evaluate_run
    from seetell.progress import for_terminal

    run = Run.open(path)
    evaluation = evaluate_run(run, data, split, options, store=store, progress=for_terminal(quiet=quiet))
    return {"recipe": run.recipe.name, **evaluation.report()}


def _of_bundle(
    path: Path, data: list[str], split: str, options: "EvaluationOptions", *, quiet: bool
) -> list[dict[str, Any]]:
    """A report for each head of an exported model; without PyTorch."""
    from seetell.data import open_dataset, union
    from seetell.evaluation import evaluate_bundle
    from seetell.progress import for_terminal
    from seetell.runtime import open_model

    if options.sheet is not None:
        raise SeetellError("--sheet applies to runs only", where=str(path), remedy="Evaluate the run it was made from")
    if path.is_dir() and not (path / "bundle.json").exists():
        raise SeetellError(
            "this is neither a run nor a model",
            where=str(path),
            remedy="Name a folder that `seetell learn train` or `seetell learn export` wrote",
        )
    datasets = [open_dataset(address) for address in data]
    dataset = datasets[0] if len(datasets) == 1 else union(datasets)
    with open_model(path) as model:
        if options.rerank_weight and "retriever" not in model.kinds:
            raise SeetellError("this model has no retriever", where=str(path), remedy="Leave out --rerank-weight")
        reports = evaluate_bundle(model, dataset, split, options, progress=for_terminal(quiet=quiet))
    return [{"kind": kind, **report} for kind, report in reports.items()]


def _print(report: dict[str, Any]) -> None:
    for line in lines(report["metrics"]):
        typer.echo(line)
    for note in report.get("notes", ()):
        typer.echo(f"  note: {note}")
    if unseen := report.get("unseen_words"):
        typer.echo(f"  {unseen['captions']:,} captions with a word that no training caption has, and the others:")
        for line in lines({key: value for key, value in unseen.items() if key != "captions"}, "    "):
            typer.echo(line)


def lines(metrics: dict[str, Any], indent: str = "  ") -> list[str]:
    """Nested metrics, one per line; a group of plain numbers takes one line."""
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
