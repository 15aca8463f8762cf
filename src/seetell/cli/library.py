"""`seetell library`: look at a library, carry descriptions in and everything out, mend it."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.library_options import AsJson, LibraryPath
from seetell.errors import SeetellError

app = typer.Typer(help="Show, export, import, check and mend a library.", no_args_is_help=True)


@app.command()
def show(library: LibraryPath = None, as_json: AsJson = False) -> None:
    """What is in a library."""
    from seetell.library import Library
    from seetell.library.exporting import json_line, shown

    with Library.open(library, create=False) as opened:
        info, tags = opened.info(), opened.tags()
    if as_json:
        counts = {each.label: each.images for each in tags}
        typer.echo(json_line({**info.to_json(), "tags": counts}))
        return
    typer.echo(f"{info.path}: {info.images:,} images in {info.files:,} files, {info.bytes / 1e6:,.1f} MB")
    typer.echo(f"bundle: {info.bundle} ({info.fingerprint[:12]}): {', '.join(info.kinds)}")
    if info.coming:
        typer.echo(f"moving to: {info.coming} (unfinished)")
    for folder in info.folders:
        typer.echo(f"folder: {shown(folder)}")
    typer.echo(f"unreadable files: {info.unreadable:,}; images that people wrote about: {info.edited:,}")
    if tags:
        typer.echo("tags: " + ", ".join(f"{each.label} {each.images:,}" for each in tags[:20]))


@app.command()
def export(
    out: Annotated[Path | None, typer.Argument(help="A .csv or .jsonl file.")] = None,
    library: LibraryPath = None,
    xmp: Annotated[bool, typer.Option("--xmp", help="Write an XMP file beside each image instead.")] = False,
) -> None:
    """Write everything as a table, as JSON lines, or as XMP files, which image managers read."""
    from seetell.library import Library

    kind = "xmp" if xmp else (out.suffix[1:].lower() if out is not None else "")
    if xmp == (out is not None) or kind not in ("xmp", "csv", "jsonl"):
        raise SeetellError("there is nothing to write to", remedy="Name a .csv or .jsonl file, or say --xmp")
    with Library.open(library, create=False) as opened:
        count = opened.export(out, kind)
    typer.echo(f"{count:,} {'files beside the images' if xmp else 'rows'}")


@app.command("import")
def import_(
    table: Annotated[Path, typer.Argument(help="A CSV, TSV or JSON lines file: a file column, and captions or tags.")],
    library: LibraryPath = None,
    images: Annotated[Path | None, typer.Option(help="The folder that its file names start from.")] = None,
) -> None:
    """Take descriptions that people have written already; they are searched like captions."""
    from seetell.library import Library

    with Library.open(library, create=False) as opened:
        imported = opened.describe(table, images=images)
    for line in imported.skipped:
        typer.echo(f"seetell: {line}", err=True)
    typer.echo(f"{imported.described:,} images described, {imported.missing:,} rows without an image")


@app.command()
def forget(folder: Annotated[Path, typer.Argument(help="A folder.")], library: LibraryPath = None) -> None:
    """Let go of a folder's images; their files are not touched."""
    from seetell.library import Library

    with Library.open(library, create=False) as opened:
        typer.echo(f"{opened.forget(folder):,} images forgotten")


@app.command()
def check(library: LibraryPath = None) -> None:
    """Look whether a library is sound; exits with 1 if it is not."""
    from seetell.library import Library

    with Library.open(library, create=False) as opened:
        wrong = opened.verify()
    for line in wrong:
        typer.echo(f"seetell: {line}", err=True)
    if wrong:
        raise SeetellError("the library is damaged", where=str(opened.path), remedy="Run `seetell library rebuild`")
    typer.echo("sound")


@app.command()
def rebuild(library: LibraryPath = None) -> None:
    """Make a damaged library anew from what can be read; what people wrote is kept."""
    from seetell.library import Library, library_folder

    if not (library_folder(library) / "library.db").exists():
        raise SeetellError("there is no library here", where=str(library_folder(library)))
    typer.echo(f"rebuilt: {Library.rebuild(library)}")
    typer.echo("Run `seetell index` to tell again what is missing.")
