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
    from seetell.library import AlertMatch, Library
    from seetell.library.export import json_line, printable

    with Library.open(library, model=model, repair=True, threads=threads) as opened, interruptible() as stop:
        reported: set[str] = set()
        for event in opened.watch(folders, alerts=alert or (), every=every, stop=stop):
            if isinstance(event, AlertMatch):
                row = {"alert": event.alert, "relevance": round(event.relevance, 4), **image_row(event.image)}
                typer.echo(json_line(row))
                continue
            for problem in event.problems:
                line = f"seetell: {printable(problem.path)}: {problem.reason}"
                if line not in reported:
                    typer.echo(line, err=True)
                    reported.add(line)
            if event.indexed or event.moved or event.removed:
                changes = f"{event.indexed} new, {event.moved} moved or copied, {event.removed} removed"
                typer.echo(f"seetell: {changes}", err=True)
