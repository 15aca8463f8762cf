"""`seetell serve`: a library in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.options import LibraryPath, ModelName, Threads


def serve(
    folder: Annotated[Path | None, typer.Argument(help="Folder to index in the background.")] = None,
    library: LibraryPath = None,
    model: ModelName = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port to listen on; 8765 or any free one by default.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; requires a token unless local.")] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(envvar="SEETELL_TOKEN", help="Access token; a random one by default.")
    ] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="Further host name to accept; repeatable.")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    threads: Threads = None,
) -> None:
    """Search, view and edit a library in the browser. Prints the page's address and serves it until Ctrl-C."""
    from seetell.errors import SeetellError

    if folder is not None and not folder.is_dir():
        raise SeetellError("no such folder", where=str(folder))

    from seetell.bundle import find_bundle
    from seetell.library import Library
    from seetell.web import Access, Site, bind
    from seetell.web import serve as run
    from seetell.web.server import page_url

    access = Access.for_host(host, token=token or "", host_names=allow_host or ())
    with Library.open(library, model=model, repair=True, threads=threads) as opened:
        if opened.rebuilt:
            typer.echo(f"seetell: the library was damaged; rebuilt with {opened.rebuilt}", err=True)
        # Report problems with the model here rather than on the page.
        if opened.info().fingerprint:
            _ = opened.model
        elif folder is not None:
            find_bundle(model)
        listener = bind(host, port)
        site = Site(opened, access)
        if folder is not None:
            site.indexer.start([folder])
        url = page_url(listener, host, access.token)
        typer.echo(url)
        typer.echo("seetell: press Ctrl-C to stop", err=True)
        if open_page:
            typer.launch(url)
        run(site, listener)
