"""`seetell learn reproduce`: a published table, trained again and written beside the original."""

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    table: Annotated[str, typer.Argument(help="Which table: vilalta-table2, kolluru-table1, …")],
    data: Annotated[list[str], typer.Option("--data", help="The dataset.")],
    out: Annotated[Path, typer.Option("--out", help="Where the runs, their records and the page go.")],
    dataset: Annotated[
        str, typer.Option(help="What the data is, if --data does not say it: COCO's images in a table are coco.")
    ] = "",
    rows: Annotated[str, typer.Option(help="Only these rows, separated by commas: FNE-MH,FC7-MH")] = "",
    budget: Annotated[str, typer.Option(help="`two-cores`, or `published`.")] = "two-cores",
    encoder: Annotated[str, typer.Option(help="Another encoder than the recipes'.")] = "",
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override a setting in every row.")] = None,
    seeds: Annotated[int, typer.Option(help="How often each row is trained; 0 takes the table's.")] = 0,
    files: Annotated[
        list[str] | None,
        typer.Option("--with", help="What some rows need: vgg16=FILE (weights), vectors300=FILE. May be repeated."),
    ] = None,
    show: Annotated[
        list[Path] | None,
        typer.Option(help="Captions: an image or folder to show with each word's attention. May be repeated."),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="Where the rows' records go, and are read for the page; OUT/rows unless told."),
    ] = None,
    store: Annotated[Path | None, typer.Option(help="Where features are kept.")] = None,
) -> None:
    """Train the rows of a published table that have not been trained, and write the page of all that have."""
    from seetell.cli.images import find_images
    from seetell.learn.reproduction.reproduce import given_files
    from seetell.learn.reproduction.reproduce import reproduce as run
    from seetell.learn.reproduction.tables import table as find
    from seetell.progress import for_terminal

    page = run(
        find(table),
        data,
        out,
        dataset=dataset,
        rows=[row.strip() for row in rows.split(",") if row.strip()],
        budget=budget,
        settings=[*([f"encoder.name={encoder}"] if encoder else []), *(settings or [])],
        files=given_files(files or []),
        show=find_images(show or [])[0],
        seeds=seeds,
        records=records,
        root=store,
        progress=for_terminal(),
        say=lambda line: typer.echo(line, err=True),
    )
    typer.echo(str(page))
