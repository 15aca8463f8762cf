"""`seetell search`: images found by words, by likeness, by tags."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seetell.cli.images import BundleName
from seetell.cli.library_options import LibraryPath
from seetell.errors import SeetellError

if TYPE_CHECKING:
    from seetell.library import Found


def search(
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="A sentence, or words.")] = "",
    library: LibraryPath = None,
    bundle: BundleName = "",
    k: Annotated[int, typer.Option("-k", min=1, max=10_000, help="How many.")] = 10,
    like: Annotated[Path | None, typer.Option(help="Images like this one.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only images with this tag; may be repeated.")] = None,
    not_tag: Annotated[list[str] | None, typer.Option(help="No images with this tag; may be repeated.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Only images in this folder, however deep.")] = None,
    since: Annotated[str, typer.Option(help="Only newer ones: 2024, 2024-05-17, 7d, 36h.")] = "",
    rank: Annotated[str, typer.Option(help="together: by embedding and words; embedding: by it alone.")] = "together",
    everything: Annotated[bool, typer.Option("--all", help="The nearest, too, that do not match.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line; always -k of them.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the best one.")] = False,
    copy_to: Annotated[Path | None, typer.Option(help="Copy what matches into this folder.")] = None,
    sheet: Annotated[Path | None, typer.Option(help="Write a contact sheet (PNG) of what matches.")] = None,
) -> None:
    """Find images. Relevance is the probability that an image is what was asked for; shown are those above one half.

    With --json: {"path", "relevance", "matches", "caption", "tags"}.
    """
    from seetell.cli.library_options import image_row, moment
    from seetell.library import Library
    from seetell.library.exporting import json_line, shown

    if not (text.strip() or like or tag or not_tag or folder or since):
        raise SeetellError("nothing was asked for", remedy="Give a text, --like, --tag, --folder or --since")
    if rank not in ("together", "embedding"):
        raise SeetellError(f"there is no rank {rank!r}", where="--rank", remedy="Choose together or embedding")
    with Library.open(library, bundle=bundle or None, create=False) as opened:
        results = opened.search(
            text,
            like=like,
            tags=tag or (),
            not_tags=not_tag or (),
            folder=folder,
            since=moment(since),
            k=k,
            rank="embedding" if rank == "embedding" else "together",
        )
    if results.unknown:
        typer.echo(f"seetell: words that nothing here knows: {', '.join(results.unknown)}", err=True)
    chosen: Sequence[Found] = results if everything else results.matching
    if as_json:
        for found in results:
            row = image_row(found.image)
            typer.echo(json_line({"path": row.pop("path"), **_measures(found), **row}))
    elif chosen:
        for found in chosen:
            typer.echo(f"{found.relevance:4.0%}  {shown(found.image.path)}\n      {found.image.caption}")
    else:
        near = f"; the nearest is {results[0].relevance:.0%} likely (--all shows it)" if results else ""
        typer.echo(f"nothing here matches{near}")
    if sheet is not None and chosen:
        _write_sheet(chosen, sheet, text)
    if copy_to is not None:
        typer.echo(f"seetell: {_copy(chosen, copy_to)} images copied to {copy_to}", err=True)
    if open_ and chosen:
        typer.launch(str(chosen[0].image.readable_file() or chosen[0].image.path))


def _measures(found: "Found") -> dict[str, object]:
    return {"relevance": round(found.relevance, 6), "matches": found.matches}


def _write_sheet(chosen: "Sequence[Found]", sheet: Path, title: str) -> None:
    from seetell.errors import ImageError
    from seetell.figures.sheet import Cell, contact_sheet, save_image
    from seetell.images import decode
    from seetell.library.exporting import shown

    cells = []
    for found in chosen:
        name = shown(Path(found.image.path).name)
        try:
            image = decode(found.image.readable_file() or found.image.path, at_least=260)
        except ImageError as error:
            typer.echo(f"seetell: {shown(str(error))}", err=True)
            continue
        cells.append(Cell(image, found.image.caption, [f"{found.relevance:.0%} · {name}"]))
    if cells:
        save_image(contact_sheet(cells, title=title), sheet)


def _copy(chosen: "Sequence[Found]", folder: Path) -> int:
    """Copy images; one whose name is taken by another gets a number, one that is there already is left."""
    import os
    import shutil

    copied = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for found in chosen:
            source = found.image.readable_file()
            if source is None:
                continue
            target, number = folder / source.name, 2
            while target.exists() and target.stat().st_size != found.image.bytes:
                target, number = folder / f"{source.stem}-{number}{source.suffix}", number + 1
            if not target.exists():
                part = target.with_name(f".{target.name}.part")
                shutil.copy2(source, part)
                os.replace(part, target)
                copied += 1
    except OSError as error:
        raise SeetellError(f"this cannot be copied to: {error.strerror}", where=str(folder)) from None
    return copied
