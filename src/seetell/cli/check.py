"""`seetell check DATASET`: what is in a dataset, and what is wrong with it."""

import typer


def check(
    dataset: str = typer.Argument(
        help="flickr8k:PATH, flickr30k:PATH, coco:PATH, table:FILE?images=FOLDER or scenes:2000"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object with everything in full."),
    images: bool = typer.Option(True, help="Read and decode every image."),
    everything: bool = typer.Option(False, "--all", help="List every problem, not only the first of each kind."),
) -> None:
    """Count a dataset's images, captions and labels, and name all that cannot be used.

    Exits with 1 only when nothing usable is left.
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
        raise typer.Exit(1)
