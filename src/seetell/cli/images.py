"""Commands that read images: finding them, showing progress, and reporting those that could not be read."""

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from seetell.cli.exit_codes import ExitCode
from seetell.errors import SeetellError
from seetell.files import Problem, scan
from seetell.progress import SILENT, Progress, for_terminal


def find_images(paths: Sequence[Path]) -> tuple[list[Path], list[Problem]]:
    """Files as given, and the images below folders, sorted by path; the same files that `seetell index` finds.

    Args:
        paths: files, which are taken whatever they are called, and folders, which are searched recursively.

    Returns:
        The images, and what could not be read: broken links, and folders without permission.
    """
    from seetell.images import is_image_name

    images: list[Path] = []
    problems: list[Problem] = []
    for path in paths:
        if not path.is_dir():
            images.append(path)
            continue
        found = scan([str(path)], is_image_name)
        if not found.files and not found.problems:
            raise SeetellError("there is no image in this folder", where=str(path))
        images += sorted(map(Path, found.files))
        problems += found.problems
    return list(dict.fromkeys(images)), problems


def report_unreadable(images: int, unreadable: int, problems: Sequence[Problem] = ()) -> None:
    """Report what could not be read, and exit: 3 if that is a part of the images, 2 if it is all of them.

    Args:
        images: how many there were.
        unreadable: how many of them could not be read.
        problems: what was not even found: see `find_images`.
    """
    for problem in problems:
        typer.echo(f"seetell: {problem.path}: {problem.reason}", err=True)
    if unreadable:
        typer.echo(f"seetell: {unreadable} of {images} images could not be read", err=True)
    if unreadable or problems:
        raise typer.Exit(ExitCode.ERROR if unreadable == images else ExitCode.PARTIAL)


def progress_with_output(*, quiet: bool) -> Progress:
    """A progress bar only if results go elsewhere: on one terminal the two would overwrite each other."""
    if quiet or sys.stdout.isatty() or not sys.stderr.isatty():
        return SILENT
    return for_terminal()
