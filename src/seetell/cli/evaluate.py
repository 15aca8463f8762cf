"""`seetell evaluate`: a model's scores on a split of a dataset."""

from pathlib import Path
from typing import Annotated, Any

import typer


def evaluate(
    model: Annotated[Path, typer.Argument(help="A run's folder.")],
    data: Annotated[list[str], typer.Option("--data", help="A dataset; several are evaluated together.")],
    split: Annotated[str, typer.Option(help="Which split.")] = "test",
    folds: Annotated[int, typer.Option(help="Retrieval: cut the split into so many parts and average over them.")] = 1,
    beam: Annotated[int, typer.Option(help="Captions, label sequences: how many beams; 0 takes the recipe's.")] = 0,
    sheet: Annotated[Path | None, typer.Option(help="Retrieval: show in this folder what some queries find.")] = None,
    store: Annotated[Path | None, typer.Option(help="Where features are kept.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score a trained model."""
    import json

    from seetell.errors import SeetellError
    from seetell.learn.training.run import Run, family
    from seetell.progress import for_terminal

    run = Run.open(model)
    if sheet and run.recipe.family != "retrieval":
        raise SeetellError("--sheet is for retrieval runs only", where=str(model), remedy="Leave it out")
    materials = run.materials(data, split, root=store, progress=for_terminal(quiet=as_json))
    options: dict[str, Any] = {"folds": folds, "beam": beam, "sheet": sheet}
    result = family(run.recipe.family).evaluate(run, materials, split, options)
    report = {"model": str(model), "recipe": run.recipe.name, "data": data, "split": split, **result}
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
        return
    typer.echo(f"{model} ({run.recipe.name}) on {', '.join(data)}, split {split}: {result['protocol']}")
    for line in lines(result["metrics"]):
        typer.echo(line)
    if sheet:
        typer.echo(f"What some queries find: {sheet / 'retrieval.html'}")


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
