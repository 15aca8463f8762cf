"""What the commands share that work on a library."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from seetell.errors import SeetellError

if TYPE_CHECKING:
    from seetell.library import LibraryImage, Report

LibraryPath = Annotated[
    str | None,
    typer.Option(
        "--library",
        metavar="PATH",
        help="The library's folder, or milvus://host:19530/name; $SEETELL_LIBRARY or your own if not given.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="A JSON object a line.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
SHOWN = 20  # problems that are listed


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """A flag that Ctrl-C sets, so that what is under way is finished and kept; a second Ctrl-C ends it at once."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        typer.echo("seetell: stopping; Ctrl-C again ends it at once", err=True)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def told(report: "Report", library: str, *, as_json: bool) -> None:
    """Print what an update did, and leave with the right code: 3 if some images could not be read, 130 if stopped."""
    from seetell.library.exporting import json_line, shown
    from seetell.progress import clock

    if report.rebuilt:
        typer.echo(f"seetell: the library was damaged and has been rebuilt with {report.rebuilt}", err=True)
    for problem in report.problems[:SHOWN]:
        typer.echo(f"seetell: {shown(problem.path)}: {problem.reason}", err=True)
    if len(report.problems) > SHOWN:
        typer.echo(f"seetell: … and {len(report.problems) - SHOWN} more", err=True)
    counts = {name: getattr(report, name) for name in ("told", "linked", "unchanged", "forgotten", "unreadable")}
    if as_json:
        row = {**counts, "stopped": report.stopped, "rebuilt": report.rebuilt, "seconds": round(report.seconds, 3)}
        problems = [{"path": each.path, "reason": each.reason} for each in report.problems]
        typer.echo(json_line({"library": library, **row, "problems": problems}))
    else:
        says = {"told": "new", "linked": "moved or copied", "unchanged": "unchanged", "forgotten": "gone"}
        parts = [f"{counts[name]:,} {word}" for name, word in says.items() if counts[name]]
        if counts["unreadable"]:
            parts.append(f"{counts['unreadable']:,} unreadable")
        typer.echo(f"{library}: {', '.join(parts) or 'no images'} ({clock(report.seconds)})")
    if report.stopped:
        raise typer.Exit(130)
    if report.problems:
        raise typer.Exit(3)


def image_row(image: "LibraryImage") -> dict[str, object]:
    """What scripts get of an image."""
    tags = [{"label": tag.label, "confidence": round(tag.confidence, 4)} for tag in image.tags]
    return {"path": image.path, "caption": image.caption, "tags": tags}


def moment(text: str) -> float | None:
    """`2024`, `2024-05`, `2024-05-17`, `2024-05-17T12:30`, or so long ago: `36h`, `7d`, `2w`."""
    import re
    import time

    if not text:
        return None
    if ago := re.fullmatch(r"(\d{1,6})([hdw])", text):
        return time.time() - int(ago[1]) * {"h": 3600, "d": 86_400, "w": 604_800}[ago[2]]
    for form in ("%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"):
        try:
            return time.mktime(time.strptime(text, form))
        except (ValueError, OverflowError):
            continue
    raise SeetellError(f"{text!r} is not a time", where="--since", remedy="Write 2024-05-17, 2024-05, or 7d for a week")
