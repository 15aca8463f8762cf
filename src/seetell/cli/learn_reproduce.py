"""`seetell learn reproduce`: train the rows of a published table and compare them with the published figures."""

from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    table: Annotated[str, typer.Argument(help="The table: vilalta-table2, kolluru-table1, …")],
    data: Annotated[list[str], typer.Option("--data", help="Dataset address. May be repeated.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the runs, their records and the page.")],
    dataset: Annotated[
        str | None, typer.Option(help="Kind of the data if it is not in --data: coco for COCO's images in a table.")
    ] = None,
    rows: Annotated[str | None, typer.Option(help="Only these rows, separated by commas: FNE-MH,FC7-MH")] = None,
    budget: Annotated[str, typer.Option(help="two-cores or published.")] = "two-cores",
    encoder: Annotated[str | None, typer.Option(help="Encoder to use instead of the recipes'.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override a setting in every row.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Train each row with seeds 1 to N; by default as many as the table has.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=1, help="Train each row with this seed only.")] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--with", help="File that some rows need: vgg16=FILE, vectors300=FILE. May be repeated."),
    ] = None,
    show: Annotated[
        list[Path] | None,
        typer.Option(help="Image or folder to show with the attention behind each word. May be repeated."),
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="Folder of the records that the page is drawn from; default OUT/rows.")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="Folder of feature stores.")] = None,
) -> None:
    """Train the rows of a published table that are not trained yet, and write a page that compares all of them."""
    if seeds is not None and seed is not None:
        raise typer.BadParameter("give either --seed or --seeds")

    from seetell.cli.images import find_images
    from seetell.learn.reproduction.reproduce import given_files
    from seetell.learn.reproduction.reproduce import reproduce as run
    from seetell.learn.reproduction.rows import Reproduction
    from seetell.learn.reproduction.tables import table as find
    from seetell.progress import for_terminal

    request = Reproduction(
        find(table),
        data,
        out,
        dataset=dataset or "",
        budget=budget,
        settings=[*([f"encoder.name={encoder}"] if encoder else []), *(settings or [])],
        files=given_files(files or []),
        show=find_images(show or [])[0],
        store=store,
        progress=for_terminal(),
    )
    page = run(
        request,
        rows=[row.strip() for row in (rows or "").split(",") if row.strip()],
        seeds=[seed] if seed is not None else range(1, seeds + 1) if seeds is not None else None,
        records=records,
    )
    typer.echo(str(page))
