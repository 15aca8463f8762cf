"""`seetell learn tune`: search for better settings of a recipe."""

from pathlib import Path
from typing import Annotated

import typer


def tune(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or a TOML file; its [tune] table lists what to try.")],
    data: Annotated[list[str], typer.Option("--data", help="A dataset; its test split is not used.")],
    trials: Annotated[int, typer.Option(min=1, help="The number of trials in total.")],
    out: Annotated[Path, typer.Option("--out", help="The study's folder; an existing study is continued.")],
    dataset: Annotated[
        str | None,
        typer.Option(help="The kind of dataset, if --data does not show it: coco for COCO's images in a table."),
    ] = None,
    budget: Annotated[str, typer.Option(help="`two-cores`, or `published`.")] = "two-cores",
    encoder: Annotated[str | None, typer.Option(help="Use another encoder than the recipe's.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override a setting in every trial.")] = None,
    store: Annotated[Path | None, typer.Option(help="The folder of feature stores.")] = None,
) -> None:
    """Try settings of a recipe, and report which of them matter."""
    from seetell.learn.training.tune import tune as run
    from seetell.progress import for_terminal

    page = run(
        recipe,
        data,
        out,
        trials=trials,
        dataset=dataset,
        budget=budget,
        settings=[*([f"encoder.name={encoder}"] if encoder else []), *(settings or [])],
        store=store,
        progress=for_terminal(),
    )
    typer.echo(str(page))
