"""`seetell index`: folders of images into a library."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.images import BundleName, Threads
from seetell.cli.library_options import AsJson, LibraryPath, Quiet


def index(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="FOLDER…", help="Folders; all of the library's if none is named.")
    ] = None,
    library: LibraryPath = None,
    bundle: BundleName = "",
    descriptions: Annotated[Path | None, typer.Option(help="A table (CSV, TSV, JSON lines) of descriptions.")] = None,
    as_json: AsJson = False,
    threads: Threads = 0,
    ray: Annotated[
        bool, typer.Option("--ray", help="Encode with Ray: on $RAY_ADDRESS's cluster, or on this computer's cores.")
    ] = False,
    ray_address: Annotated[str, typer.Option(metavar="ADDRESS", help="Encode on this Ray cluster.")] = "",
    quiet: Quiet = False,
) -> None:
    """Make folders of images searchable; again, only what is new or changed is looked at.

    Exits with 0 if every image was read, 3 if some were not, 130 if it was stopped; what was done is kept.
    """
    from seetell.cli.library_options import interruptible, told
    from seetell.errors import SeetellError
    from seetell.library import Library
    from seetell.progress import for_terminal

    with (
        Library.open(library, bundle=bundle or None, mend=True, threads=threads or None) as opened,
        interruptible() as stop,
    ):
        if not folders and not opened.info().folders:
            raise SeetellError("this library has no folders yet", where=str(opened.path), remedy="Name one to index")
        report = opened.update(
            folders or None,
            progress=for_terminal(quiet=quiet or as_json),
            stop=stop,
            ray=ray_address if ray or ray_address else None,
        )
        if descriptions is not None and not report.stopped:
            imported = opened.describe(descriptions)
            for line in imported.skipped:
                typer.echo(f"seetell: {line}", err=True)
            typer.echo(
                f"seetell: {imported.described:,} images described, {imported.missing:,} rows without an image",
                err=True,
            )
        path = str(opened.path)
    told(report, path, as_json=as_json)
