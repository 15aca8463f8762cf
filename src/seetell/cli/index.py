"""`seetell index`: make folders of images searchable."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.exit_codes import ExitCode
from seetell.cli.options import AsJson, LibraryPath, ModelName, Quiet, Threads


def index(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="FOLDER…", help="Folders; those of the library by default.")
    ] = None,
    library: LibraryPath = None,
    model: ModelName = None,
    descriptions: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Import descriptions from a CSV, TSV or JSON-lines file, too.")
    ] = None,
    as_json: AsJson = False,
    threads: Threads = None,
    ray: Annotated[bool, typer.Option("--ray", help="Encode with Ray, on $RAY_ADDRESS or this computer.")] = False,
    ray_address: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Encode on this Ray cluster.")] = None,
    quiet: Quiet = False,
) -> None:
    """Make folders of images searchable.

    Later runs look only at new, changed and removed files. Interrupt it at any time; it resumes where it stopped.
    """
    from seetell.cli.interrupt import interruptible
    from seetell.cli.library_output import print_imported, print_report
    from seetell.errors import SeetellError
    from seetell.library import Library
    from seetell.progress import for_terminal

    complete = True
    with Library.open(library, model=model, repair=True, threads=threads) as opened, interruptible() as stop:
        if not folders and not opened.info().folders:
            raise SeetellError("this library has no folders yet", where=str(opened.path), remedy="Name one to index")
        report = opened.update(
            folders or None,
            progress=for_terminal(quiet=quiet or as_json),
            stop=stop,
            ray=ray_address or ("" if ray else None),
        )
        if descriptions is not None and not report.stopped:
            complete = print_imported(opened.import_descriptions(descriptions), err=True)
        path = str(opened.path)
    print_report(report, path, as_json=as_json)
    if not complete:
        raise typer.Exit(ExitCode.PARTIAL)
