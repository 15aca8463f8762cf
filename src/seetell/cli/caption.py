"""`seetell caption`: images told in words."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seetell.cli.images import BundleName, ImagePaths, Threads
from seetell.errors import SeetellError

if TYPE_CHECKING:
    from seetell.runtime import CaptionResult, Model


def caption(
    paths: ImagePaths,
    bundle: BundleName = "",
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values, with a header.")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="An <img> with its alt text a line.")] = False,
    sidecar: Annotated[str, typer.Option(help="txt or xmp: write a file beside each image, too.")] = "",
    attention: Annotated[Path | None, typer.Option(help="A folder for panels of where each word looked.")] = None,
    best: Annotated[int, typer.Option("--best", min=1, max=100, help="How many captions of each image.")] = 1,
    beam: Annotated[int, typer.Option(min=0, max=100, help="Captions searched at once; 0: as the bundle says.")] = 0,
    threads: Threads = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Caption images.

    Where a caption fits its image worse than nearly any did while the bundle was made, it begins with "perhaps"
    (--json and --csv have a field for that).

    Exits with 0 if every image was read, 3 if some were not, 1 if none was.
    """
    import sys

    from seetell.cli import caption_outputs as outputs
    from seetell.cli.images import finish, listed
    from seetell.progress import SILENT, for_terminal
    from seetell.runtime import open_model

    if as_json + as_csv + as_html > 1:
        raise SeetellError("--json, --csv and --html exclude each other", remedy="Choose one of them")
    if sidecar not in ("", "txt", "xmp"):
        raise SeetellError(f"there is no sidecar of the kind {sidecar!r}", remedy="Choose --sidecar txt or xmp")
    images = listed(paths)
    shown: Callable[[CaptionResult], str] = outputs.as_text
    if as_json:
        shown = lambda result: outputs.as_json(result, best > 1)  # noqa: E731
    elif as_csv:
        shown = outputs.as_csv
        typer.echo("path,caption,score,uncertain,error")
    elif as_html:
        shown = outputs.as_html
    # A bar that shares the terminal with captions would write across them.
    progress = SILENT if quiet or sys.stdout.isatty() or not sys.stderr.isatty() else for_terminal()
    failed = kept = 0
    with open_model(bundle or None, threads=threads or None) as model:
        if attention is not None:
            _check_panels(model, attention)
        for result in model.captioner(images, n_best=best, beam=beam or None, progress=progress):
            failed += result.error is not None
            typer.echo(shown(result))
            if sidecar and result.error is None:
                kept += outputs.write_sidecar(result, sidecar) is None
            if attention is not None and result.error is None:
                _write_panels(model, result, attention)
    if kept:
        typer.echo(f"seetell: {kept} images had a .{sidecar} file already, which was left as it is", err=True)
    finish(len(images), failed)


def _check_panels(model: "Model", folder: Path) -> None:
    """Make the folder for panels; refuse it, or a captioner that has nothing to show, before the work begins."""
    if not model.captioner.decoder.attention:
        raise SeetellError(
            "this bundle's captioner pays no attention that could be shown",
            where=str(model.bundle.path),
            remedy="Name one with attention (attend, convolutional), or leave --attention out",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SeetellError(
            f"this folder cannot be made: {error.strerror}", where=str(folder), remedy="Choose another for --attention"
        ) from None


def _write_panels(model: "Model", result: "CaptionResult", folder: Path) -> None:
    import hashlib
    import io

    from seetell.cli.caption_outputs import write_atomically
    from seetell.figures.attention import AttendedCaption, attention_sheet
    from seetell.images import decode

    image = decode(result.name)
    told = [
        AttendedCaption(each.words, each.attention, each.gate) for each in result.captions if each.attention is not None
    ]
    sheet = attention_sheet(image, told, box=model.preparation.visible_box(image.size))
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG")
    # Images of the same name in two folders must not share a panel.
    mark = hashlib.sha256(str(Path(result.name).absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:6]
    write_atomically(folder / f"{Path(result.name).stem}-{mark}.png", buffer.getvalue())
