"""`seetell library`: inspect, export, describe, repair and reindex a library."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seetell.cli.exit_codes import ExitCode
from seetell.cli.options import AsJson, LibraryPath, Quiet
from seetell.errors import SeetellError

if TYPE_CHECKING:
    from seetell.library import LibraryImage

app = typer.Typer(help="Show, check, export and maintain a library.", no_args_is_help=True)


@app.command()
def show(library: LibraryPath = None, as_json: AsJson = False) -> None:
    """Show what is in a library."""
    from seetell.library import Library
    from seetell.library.export import json_line, printable

    with Library.open(library, create=False) as opened:
        info, tags = opened.info(), opened.tags()
    if as_json:
        counts = {each.label: each.images for each in tags}
        typer.echo(json_line({**info.to_json(), "tags": counts}))
        return
    typer.echo(f"{info.path}: {info.images:,} images in {info.files:,} files, {info.bytes / 1e6:,.1f} MB")
    typer.echo(f"model: {info.model} ({info.fingerprint[:12]}): {', '.join(info.kinds)}")
    if info.next_model:
        typer.echo(f"unfinished reindex to: {info.next_model}")
    for folder in info.folders:
        typer.echo(f"folder: {printable(folder)}")
    typer.echo(f"unreadable files: {info.unreadable:,}; images edited by people: {info.edited:,}")
    if tags:
        typer.echo("tags: " + ", ".join(f"{each.label} {each.images:,}" for each in tags[:20]))


@app.command()
def check(
    library: LibraryPath = None,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild a damaged library; edits are kept.")] = False,
) -> None:
    """Check that a library is intact, and repair it with --repair."""
    from seetell.library import DamagedError, Library

    try:
        with Library.open(library, create=False) as opened:
            problems = opened.check()
    except DamagedError as error:
        problems = [str(error)]
    if not problems:
        typer.echo("no problems found")
        return
    for problem in problems:
        typer.echo(f"seetell: {problem}", err=True)
    if not repair:
        raise SeetellError("the library is damaged", remedy="Run `seetell library check --repair`")
    typer.echo(f"rebuilt: {Library.rebuild(library)}")
    typer.echo("Run `seetell index` to index what is missing.")


@app.command()
def export(
    out: Annotated[Path | None, typer.Argument(help="A .csv or .jsonl file.")] = None,
    library: LibraryPath = None,
    xmp: Annotated[bool, typer.Option("--xmp", help="Write an XMP sidecar next to each image instead.")] = False,
) -> None:
    """Write captions and tags to a CSV or JSON-lines file, or to XMP sidecars, which photo managers read."""
    from seetell.library import Library

    kind = "xmp" if xmp else (out.suffix[1:].lower() if out is not None else "")
    if xmp == (out is not None) or kind not in ("xmp", "csv", "jsonl"):
        raise SeetellError("there is nothing to write to", remedy="Name a .csv or .jsonl file, or add --xmp")
    with Library.open(library, create=False) as opened:
        count = opened.export(out, kind)
    typer.echo(f"{count:,} {'sidecar files' if xmp else 'rows'} written")


@app.command("import")
def import_(
    table: Annotated[Path, typer.Argument(help="A CSV, TSV or JSON-lines file with a file column, captions or tags.")],
    library: LibraryPath = None,
    images: Annotated[Path | None, typer.Option(help="The folder that file names are relative to.")] = None,
) -> None:
    """Import descriptions that people wrote; they are searched like captions."""
    from seetell.cli.library_output import print_imported
    from seetell.library import Library

    with Library.open(library, create=False) as opened:
        imported = opened.import_descriptions(table, images=images)
    complete = print_imported(imported)
    if not imported.described:
        raise typer.Exit(ExitCode.NOTHING_FOUND)
    if not complete:
        raise typer.Exit(ExitCode.PARTIAL)


@app.command()
def forget(folder: Annotated[Path, typer.Argument(help="A folder.")], library: LibraryPath = None) -> None:
    """Remove a folder's images from a library; their files are not touched."""
    from seetell.library import Library

    with Library.open(library, create=False) as opened:
        forgotten = opened.forget(folder)
    typer.echo(f"{forgotten:,} images forgotten")
    if not forgotten:
        raise typer.Exit(ExitCode.NOTHING_FOUND)


@app.command()
def reindex(
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="Name or folder of the new model.")],
    library: LibraryPath = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Move a library to another model.

    The library can be searched meanwhile. Interrupt it at any time; it resumes where it stopped.
    """
    from seetell.cli.interrupt import interruptible
    from seetell.cli.library_output import print_report
    from seetell.library import Library
    from seetell.progress import for_terminal

    with Library.open(library, create=False, repair=True) as opened, interruptible() as stop:
        report = opened.reindex(model, progress=for_terminal(quiet=quiet or as_json), stop=stop)
        path = str(opened.path)
    print_report(report, path, as_json=as_json)


@app.command()
def duplicates(
    library: LibraryPath = None,
    bits: Annotated[int, typer.Option(min=0, max=7, help="How many of the 64 hash bits may differ.")] = 7,
    as_json: AsJson = False,
) -> None:
    """List images that look the same, the largest of each group first; nothing is deleted.

    With --json, a group per line: {"files": [{"path", "width", "height", "bytes", "hash"}]}.
    """
    from seetell.library import Library
    from seetell.library.export import json_line, printable

    with Library.open(library, create=False) as opened:
        groups = [_files(group) for group in opened.duplicates(bits)]
    for files in groups:
        if as_json:
            typer.echo(json_line({"files": files}))
            continue
        for index, row in enumerate(files):
            size = f"{row['width']} × {row['height']}, {row['bytes']:,} bytes"
            typer.echo(f"{'= ' if index else ''}{printable(str(row['path']))} ({size})")
        typer.echo("")
    if not as_json:
        typer.echo(f"groups of duplicates: {len(groups)}" if groups else "no duplicates")
    if not groups:
        raise typer.Exit(ExitCode.NOTHING_FOUND)


def _files(group: "tuple[LibraryImage, ...]") -> list[dict[str, object]]:
    return [
        {"path": path, "width": image.width, "height": image.height, "bytes": image.bytes, "hash": image.hash}
        for image in group
        for path in image.files
    ]
