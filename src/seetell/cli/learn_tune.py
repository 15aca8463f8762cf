"""`seetell learn tune`: search for better settings of a recipe."""

from pathlib import Path
from typing import Annotated

import typer


def tune(
    recipe: Annotated[str, typer.Argument(help="A recipe's name or a TOML file; its [tune] table says what to try.")],
    data: Annotated[list[str], typer.Option("--data", help="A dataset; its test split is not looked at.")],
    trials: Annotated[int, typer.Option(help="How many trials there shall be in all.")],
    out: Annotated[Path, typer.Option("--out", help="Where the study and its runs go; a study there goes on.")],
    budget: Annotated[str, typer.Option(help="`two-cores`, or `published`.")] = "two-cores",
    encoder: Annotated[str, typer.Option(help="Another encoder than the recipe's.")] = "",
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override a setting in every trial.")] = None,
    store: Annotated[Path | None, typer.Option(help="Where features are kept.")] = None,
) -> None:
    """Try settings of a recipe, and show which of them mattered."""
    from seetell.learn.training.tune import tune as run
    from seetell.progress import for_terminal

    page = run(
        recipe,
        data,
        out,
        trials=trials,
        budget=budget,
        settings=[*([f"encoder.name={encoder}"] if encoder else []), *(settings or [])],
        root=store,
        progress=for_terminal(),
        say=lambda line: typer.echo(line, err=True),
    )
    typer.echo(str(page))
