"""`seetell serve`: a library as a page in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.options import LibraryPath, ModelName, Threads


def serve(
    folder: Annotated[Path | None, typer.Argument(help="Index this folder first, and while you look.")] = None,
    library: LibraryPath = None,
    model: ModelName = None,
    port: Annotated[int | None, typer.Option(min=0, max=65_535, help="8765, or else any that is free.")] = None,
    host: Annotated[str, typer.Option(help="Where to listen; elsewhere than here a token is needed.")] = "127.0.0.1",
    token: Annotated[
        str, typer.Option(envvar="SEETELL_TOKEN", help="What whoever asks must know; by chance if not given.")
    ] = "",
    name: Annotated[list[str] | None, typer.Option(help="A host name by which it is asked for, too.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in your browser.")] = False,
    threads: Threads = None,
) -> None:
    """Search, look and edit in the browser. Prints the page's address, and serves it until Ctrl-C."""
    from seetell.errors import SeetellError

    if folder is not None and not folder.is_dir():
        raise SeetellError("there is no such folder", where=str(folder))

    from seetell.bundle import find_bundle
    from seetell.library import Library
    from seetell.web import Access, Site, bind
    from seetell.web import serve as run
    from seetell.web.server import address

    access = Access.to(host, token=token, names=name or ())
    with Library.open(library, model=model, repair=True, threads=threads) as opened:
        if opened.rebuilt:
            typer.echo(f"seetell: the library was damaged and has been rebuilt with {opened.rebuilt}", err=True)
        # What is wrong with the bundle is told here, not on the page.
        if opened.info().fingerprint:
            _ = opened.model
        elif folder is not None:
            find_bundle(model)
        listener = bind(host, port)
        site = Site(opened, access)
        if folder is not None:
            site.indexer.start([folder])
        where = address(listener, host, access.token)
        typer.echo(where)
        typer.echo("seetell: Ctrl-C ends it", err=True)
        if open_:
            typer.launch(where)
        run(site, listener)
