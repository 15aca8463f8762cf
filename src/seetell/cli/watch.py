"""`seetell watch`: keep a library current, and report new images that match a text."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.options import LibraryPath, ModelName, Threads


def watch(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Folders.")],
    library: LibraryPath = None,
    model: ModelName = None,
    alert: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Print new images that match; repeatable.")
    ] = None,
    every: Annotated[float, typer.Option(min=0.1, max=86_400, help="Seconds between two scans of the folders.")] = 2.0,
    threads: Threads = None,
) -> None:
    """Keep a library current until Ctrl-C.

    Alerts go to standard output, a JSON object per line: {"alert", "relevance", "path", "caption", "tags"}. Everything
    else goes to standard error. Images that are in a folder when it is first watched are indexed, but are not new.
    """
    from seetell.cli.interrupt import interruptible
    from seetell.cli.library_output import image_row
    from seetell.library import Library, Sighting
    from seetell.library.exporting import json_line, shown

    with Library.open(library, bundle=model, mend=True, threads=threads) as opened, interruptible() as stop:
        reported: set[str] = set()
        for seen in opened.watch(folders, alerts=alert or (), every=every, stop=stop):
            if isinstance(seen, Sighting):
                row = {"alert": seen.alert, "relevance": round(seen.relevance, 4), **image_row(seen.image)}
                typer.echo(json_line(row))
                continue
            for problem in seen.problems:
                line = f"seetell: {shown(problem.path)}: {problem.reason}"
                if line not in reported:
                    typer.echo(line, err=True)
                    reported.add(line)
            if seen.told or seen.linked or seen.forgotten:
                changes = f"{seen.told} new, {seen.linked} moved or copied, {seen.forgotten} removed"
                typer.echo(f"seetell: {changes}", err=True)
