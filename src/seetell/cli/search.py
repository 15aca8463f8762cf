"""`seetell search`: find images by text, by example and by tags."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seetell.cli.exit_codes import ExitCode
from seetell.cli.options import LibraryPath, ModelName
from seetell.errors import SeetellError

if TYPE_CHECKING:
    from seetell.library import SearchHit, SearchResults


class Rank(StrEnum):
    """What results are ranked by."""

    TOGETHER = "together"
    EMBEDDING = "embedding"


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence, or words.")] = "",
    library: LibraryPath = None,
    model: ModelName = None,
    k: Annotated[int, typer.Option("-k", min=1, max=10_000, help="How many results.")] = 10,
    like: Annotated[Path | None, typer.Option(metavar="IMAGE", help="Find images that look like this one.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="Only images with this tag; repeatable.")] = None,
    not_tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Only images without this tag; repeatable.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Only images below this folder.")] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only images since then: 2024, 2024-05-17, 36h, 7d.")
    ] = None,
    rank: Annotated[Rank, typer.Option(help="Rank by embedding and words together, or by embedding.")] = Rank.TOGETHER,
    everything: Annotated[bool, typer.Option("--all", help="Show the nearest images even if none matches.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per line, matching or not.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the best result.")] = False,
    copy_to: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Copy the matching images here.")] = None,
    sheet: Annotated[Path | None, typer.Option(metavar="PNG", help="Write a contact sheet of the matches.")] = None,
) -> None:
    """Find images in a library.

    Relevance is the probability that an image is what was searched for; matches have at least 50%.
    With --json, a result per line: {"path", "relevance", "matches", "caption", "tags"}.
    """
    from seetell.cli.since import parse_since
    from seetell.library import Filters, Library

    if not (text.strip() or like or tag or not_tag or folder or since):
        raise SeetellError("there is nothing to search for", remedy="Give a text, --like, --tag, --folder or --since")
    filters = Filters(tag or (), not_tag or (), folder or "", parse_since(since))
    with Library.open(library, model=model, create=False) as opened:
        results = opened.search(text, filters, like=like, k=k, rank=rank.value)
    if results.unknown_words:
        typer.echo(f"seetell: words unknown to this library: {', '.join(results.unknown_words)}", err=True)
    chosen: Sequence[SearchHit] = results if everything else results.matching
    printed = _print_json(results) if as_json else _print_text(chosen, results)
    if sheet is not None and chosen:
        _write_sheet(chosen, sheet, text)
    if copy_to is not None:
        typer.echo(f"seetell: {_copy(chosen, copy_to)} images copied to {copy_to}", err=True)
    if open_ and chosen:
        typer.launch(str(chosen[0].image.readable_file() or chosen[0].image.path))
    if not printed:
        raise typer.Exit(ExitCode.NOTHING_FOUND)


def _print_json(results: "SearchResults") -> int:
    from seetell.cli.library_output import image_row
    from seetell.library.export import json_line

    for hit in results:
        row = image_row(hit.image)
        measures = {"relevance": round(hit.relevance, 6), "matches": hit.matches}
        typer.echo(json_line({"path": row.pop("path"), **measures, **row}))
    return len(results)


def _print_text(chosen: "Sequence[SearchHit]", results: "SearchResults") -> int:
    from seetell.library.export import printable

    for hit in chosen:
        typer.echo(f"{hit.relevance:4.0%}  {printable(hit.image.path)}\n      {hit.image.caption}")
    if not chosen:
        nearest = f"; the nearest has a relevance of {results[0].relevance:.0%} (--all shows it)" if results else ""
        typer.echo(f"nothing matches{nearest}")
    return len(chosen)


def _write_sheet(chosen: "Sequence[SearchHit]", sheet: Path, title: str) -> None:
    from seetell.errors import ImageError
    from seetell.figures.sheet import Cell, contact_sheet, save_image
    from seetell.images import decode
    from seetell.library.export import printable

    cells = []
    for hit in chosen:
        name = printable(Path(hit.image.path).name)
        try:
            image = decode(hit.image.readable_file() or hit.image.path, at_least=260)
        except ImageError as error:
            typer.echo(f"seetell: {printable(str(error))}", err=True)
            continue
        cells.append(Cell(image, hit.image.caption, [f"{hit.relevance:.0%} · {name}"]))
    if cells:
        save_image(contact_sheet(cells, title=title), sheet)


def _copy(chosen: "Sequence[SearchHit]", folder: Path) -> int:
    """Copy images; a number is added to a name that another image has, and a copy that exists is kept."""
    import shutil

    from seetell.files import replacing

    copied = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SeetellError(f"this folder cannot be made: {error.strerror}", where=str(folder)) from None
    for hit in chosen:
        source = hit.image.readable_file()
        if source is None:
            continue
        target, number = folder / source.name, 2
        while target.exists() and target.stat().st_size != hit.image.bytes:
            target, number = folder / f"{source.stem}-{number}{source.suffix}", number + 1
        if not target.exists():
            with replacing(target) as part:
                shutil.copy2(source, part)
            copied += 1
    return copied
