"""`seetell check DATASET`: count a dataset, and list what cannot be used."""

from typing import Annotated

import typer

from seetell.cli.exit_codes import ExitCode


def check(
    dataset: Annotated[
        str,
        typer.Argument(help="flickr8k:PATH, flickr30k:PATH, coco:PATH, table:FILE?images=FOLDER or scenes:2000"),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as one JSON object.")] = False,
    images: Annotated[bool, typer.Option(help="Read and decode every image.")] = True,
    everything: Annotated[bool, typer.Option("--all", help="List every problem, not only the first of each kind.")] = (
        False
    ),
) -> None:
    """Count a dataset's images, captions and labels, and list what cannot be used.

    Exits with 1 if nothing usable is left.
    """
    import json

    from seetell.data import check as check_dataset
    from seetell.data import open_dataset
    from seetell.progress import for_terminal

    report = check_dataset(open_dataset(dataset), progress=for_terminal(), images=images)
    if as_json:
        typer.echo(json.dumps(report.to_json()))
    else:
        for line in report.lines(shown=None) if everything else report.lines():
            typer.echo(line)
    if not report.usable:
        raise typer.Exit(ExitCode.NOTHING_FOUND)
