"""`seetell caption`: describe images in a sentence."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seetell.cli.options import AsJson, ImagePaths, ModelName, Quiet, Threads
from seetell.errors import SeetellError

if TYPE_CHECKING:
    from seetell.runtime import CaptionResult


class Sidecar(StrEnum):
    """The kinds of sidecar files."""

    TXT = "txt"
    XMP = "xmp"


def caption(
    paths: ImagePaths,
    model: ModelName = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values with a header.")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="Print an <img> element with alt text per line.")] = False,
    sidecar: Annotated[Sidecar | None, typer.Option(help="Write a sidecar file next to each image, too.")] = None,
    attention: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write an image of the attention per word to this folder.")
    ] = None,
    best: Annotated[int, typer.Option("--best", min=1, max=100, help="Captions per image.")] = 1,
    beam: Annotated[
        int | None, typer.Option(min=1, max=100, help="Width of the beam search; set by the model by default.")
    ] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Caption images: a line per image.

    Low-confidence captions are prefixed with "perhaps"; --json and --csv have a field for that instead.
    """
    from seetell.cli import attention_panels as panels
    from seetell.cli import caption_output as output
    from seetell.cli.images import find_images, progress_with_output, report_unreadable
    from seetell.runtime import open_model

    show = _format(as_json, as_csv, as_html, several=best > 1)
    images, problems = find_images(paths)
    if as_csv:
        typer.echo(output.CSV_HEADER)
    unreadable = kept = 0
    with open_model(model, threads=threads) as opened:
        if attention is not None:
            panels.make_folder(opened, attention)
        for result in opened.captioner(images, n_best=best, beam=beam, progress=progress_with_output(quiet=quiet)):
            typer.echo(show(result))
            if result.error is not None:
                unreadable += 1
                continue
            if sidecar is not None:
                kept += not output.write_sidecar(result, sidecar)
            if attention is not None:
                panels.write_panels(opened, result, attention)
    if kept:
        typer.echo(f"seetell: existing .{sidecar} files left unchanged: {kept}", err=True)
    report_unreadable(len(images), unreadable, problems)


def _format(json: bool, csv: bool, html: bool, *, several: bool) -> "Callable[[CaptionResult], str]":
    from functools import partial

    from seetell.cli import caption_output as output

    if json + csv + html > 1:
        raise SeetellError("--json, --csv and --html exclude each other", remedy="Choose one of them")
    if json:
        return partial(output.as_json, several=several)
    if csv:
        return output.as_csv
    return output.as_html if html else output.as_text
