"""`seetell learn train`: train a recipe on a dataset."""

from pathlib import Path
from typing import Annotated

import typer


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name (`fne-mh`) or a TOML file.")],
    data: Annotated[list[str], typer.Option("--data", help="A dataset; several are trained on together.")],
    out: Annotated[Path, typer.Option("--out", help="The run's folder.")],
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out where it was stopped.")] = False,
    dataset: Annotated[
        str | None,
        typer.Option(help="The kind of dataset, if --data does not show it: coco for COCO's images in a table."),
    ] = None,
    budget: Annotated[str, typer.Option(help="`two-cores`, or `published` for the paper's own setting.")] = "two-cores",
    encoder: Annotated[str | None, typer.Option(help="Use another encoder than the recipe's.")] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", help="Start from trained weights: a run's folder, or a model's name or folder."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting: model.dimensions=512")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="The folder of feature stores.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
) -> None:
    """Train a recipe on a dataset; images are encoded first where features are missing."""
    from seetell.learn import load_recipe
    from seetell.learn import train as run_training
    from seetell.learn.training.features import dataset_kind
    from seetell.learn.training.warm_start import recipe_from
    from seetell.progress import for_terminal

    overrides = [*([f"encoder.name={encoder}"] if encoder else []), *(settings or [])]
    kind = dataset_kind(data, dataset)
    if start:
        loaded = recipe_from(recipe, start, dataset=kind, budget=budget, settings=overrides)
    else:
        loaded = load_recipe(recipe, dataset=kind, budget=budget, settings=overrides)
    run = run_training(loaded, data, out, resume=resume, store=store, device=device, progress=for_terminal())
    best = run.best
    if best is None:
        typer.echo(f"{out}: no epoch was trained")
    else:
        typer.echo(f"{out}: best validation score {best['score']:.2f} in epoch {best['epoch']}, phase {best['phase']}")
