"""`seetell learn train`: a recipe and a dataset become a run."""

from pathlib import Path
from typing import Annotated

import typer


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe's name (`fne-mh`) or a TOML file.")],
    data: Annotated[list[str], typer.Option("--data", help="A dataset; several are trained on together.")],
    out: Annotated[Path, typer.Option("--out", help="The run's folder.")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run in --out was stopped.")] = False,
    budget: Annotated[str, typer.Option(help="`two-cores`, or `published` for the paper's own setting.")] = "two-cores",
    encoder: Annotated[str, typer.Option(help="Another encoder than the recipe's.")] = "",
    start: Annotated[
        str, typer.Option("--from", help="Start from trained weights: a run's folder, or a bundle's folder or name.")
    ] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting: model.dimensions=512")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="Where features are kept.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
) -> None:
    """Train a recipe on a dataset; features are made first where they are missing."""
    from seetell.learn.recipes import load_recipe
    from seetell.learn.training.run import train as run_training
    from seetell.learn.training.warm_start import recipe_from
    from seetell.progress import for_terminal

    overrides = [*([f"encoder.name={encoder}"] if encoder else []), *(settings or [])]
    kind = data[0].partition(":")[0]
    if start:
        loaded = recipe_from(recipe, start, dataset=kind, budget=budget, settings=overrides)
    else:
        loaded = load_recipe(recipe, dataset=kind, budget=budget, settings=overrides)
    run = run_training(
        loaded,
        data,
        out,
        resume=resume,
        root=store,
        accelerator=device,
        progress=for_terminal(),
        say=lambda line: typer.echo(line, err=True),
    )
    history = run.history()
    best = max(history, key=lambda record: record["score"])
    typer.echo(f"{out}: best validation score {best['score']:.2f} in epoch {best['epoch']}, phase {best['phase']}")
