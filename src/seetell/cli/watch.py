"""`seetell watch`: a library that stays current, and tells when an image comes that was waited for."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.images import BundleName, Threads
from seetell.cli.library_options import LibraryPath


def watch(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Folders.")],
    library: LibraryPath = None,
    bundle: BundleName = "",
    alert: Annotated[list[str] | None, typer.Option(help="Print a JSON line for a new image that matches.")] = None,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks at the folders.")] = 2.0,
    threads: Threads = 0,
) -> None:
    """Keep a library current until Ctrl-C; what it does is told on standard error, alerts on standard output.

    An alert is {"alert", "relevance", "path", "caption", "tags"}. What lies in a folder when it is first watched is
    indexed, but not new.
    """
    from seetell.cli.library_options import image_row, interruptible
    from seetell.library import Library, Sighting
    from seetell.library.exporting import json_line, shown

    with (
        Library.open(library, bundle=bundle or None, mend=True, threads=threads or None) as opened,
        interruptible() as stop,
    ):
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
                what = f"{seen.told} new, {seen.linked} moved or copied, {seen.forgotten} gone"
                typer.echo(f"seetell: {what}", err=True)
