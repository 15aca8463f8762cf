"""`seetell learn results`: all pages of results, drawn from the rows' records."""

from pathlib import Path
from typing import Annotated

import typer


def results(
    folder: Annotated[Path, typer.Argument(help="The pages' folder; records lie in its `rows`.")] = Path(
        "docs/results"
    ),
    readme: Annotated[
        Path | None, typer.Option(help="A file into which the headline rows are written, between two marks.")
    ] = None,
) -> None:
    """Draw the page of every table that has records, the page across all tables, and the index; takes seconds."""
    from seetell.learn.reproduction.results import write_results

    for line in write_results(folder, readme):
        typer.echo(line)
