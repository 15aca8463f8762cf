"""`seetell duplicates`: images that are there more than once."""

from typing import Annotated

import typer

from seetell.cli.library_options import AsJson, LibraryPath


def duplicates(
    library: LibraryPath = None,
    bits: Annotated[int, typer.Option(min=0, max=7, help="Of 64, how many may differ; 0: the same at a glance.")] = 7,
    as_json: AsJson = False,
) -> None:
    """List images that look the same, and files that are the same; nothing is deleted.

    In each group the largest comes first. With --json: {"files": [{"path", "width", "height", "bytes", "hash"}]}.
    """
    from seetell.library import Library
    from seetell.library.exporting import json_line, shown

    with Library.open(library, create=False) as opened:
        groups = opened.duplicates(bits)
    for group in groups:
        rows = [
            {"path": path, "width": each.width, "height": each.height, "bytes": each.bytes, "hash": each.hash}
            for each in group
            for path in each.files
        ]
        if as_json:
            typer.echo(json_line({"files": rows}))
            continue
        for place, row in enumerate(rows):
            size = f"{row['width']} × {row['height']}, {row['bytes']:,} bytes"
            typer.echo(f"{'= ' if place else ''}{shown(str(row['path']))} ({size})")
        typer.echo("")
    if not as_json:
        typer.echo(f"{len(groups)} groups" if groups else "nothing is here twice")
