"""How commands print what a library did and what it holds."""

from typing import TYPE_CHECKING

import typer

from seetell.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seetell.library import ImportReport, LibraryImage, Report

SHOWN_PROBLEMS = 20


def print_report(report: "Report", library: str, *, as_json: bool) -> None:
    """Print what an update did, and exit with 3 if something could not be read, 130 if it was interrupted."""
    from seetell.library.export import json_line, printable

    if report.rebuilt:
        typer.echo(f"seetell: the library was damaged; rebuilt with {report.rebuilt}", err=True)
    for problem in report.problems[:SHOWN_PROBLEMS]:
        typer.echo(f"seetell: {printable(problem.path)}: {problem.reason}", err=True)
    if len(report.problems) > SHOWN_PROBLEMS:
        typer.echo(f"seetell: … and {len(report.problems) - SHOWN_PROBLEMS} more", err=True)
    if as_json:
        row = {**_counts(report), "stopped": report.stopped, "rebuilt": report.rebuilt}
        problems = [{"path": each.path, "reason": each.reason} for each in report.problems]
        typer.echo(json_line({"library": library, **row, "seconds": round(report.seconds, 3), "problems": problems}))
    else:
        typer.echo(f"{library}: {_summary(report)}")
    if report.stopped:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if report.problems:
        raise typer.Exit(ExitCode.PARTIAL)


def print_imported(imported: "ImportReport", *, err: bool = False) -> bool:
    """Print what a table of descriptions brought; whether every row of it was used."""
    for line in imported.skipped:
        typer.echo(f"seetell: {line}", err=True)
    prefix = "seetell: " if err else ""
    typer.echo(f"{prefix}{imported.described:,} images described, {imported.missing:,} rows without an image", err=err)
    return not imported.skipped and not imported.missing


def image_row(image: "LibraryImage") -> dict[str, object]:
    """The fields of an image in JSON output."""
    tags = [{"label": tag.label, "confidence": round(tag.confidence, 4)} for tag in image.tags]
    return {"path": image.path, "caption": image.caption, "tags": tags}


def _counts(report: "Report") -> dict[str, int]:
    return {name: getattr(report, name) for name in ("indexed", "moved", "unchanged", "removed", "unreadable")}


def _summary(report: "Report") -> str:
    from seetell.progress import clock

    words = {"indexed": "new", "moved": "moved or copied"}
    parts = [f"{count:,} {words.get(name, name)}" for name, count in _counts(report).items() if count]
    return f"{', '.join(parts) or 'no images'} ({clock(report.seconds)})"
