"""What the commands share that go through a user's images."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from seetell.errors import SeetellError

ImagePaths = Annotated[list[Path], typer.Argument(metavar="PATH…", help="Images, or folders of images.")]
BundleName = Annotated[str, typer.Option("--bundle", help="A bundle's name or folder; the built-in one if not given.")]
Threads = Annotated[int, typer.Option(help="How many cores to use; 0: all.")]


def listed(paths: Sequence[Path]) -> list[Path]:
    """Files as they are named, and the images in folders, however deep, in the order of their names."""
    from seetell.images import is_image_name

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in _walk(path) if is_image_name(each))
            if not inside:
                raise SeetellError("there is no image in this folder", where=str(path))
            found += inside
        else:
            found.append(path)  # if it is no image, its result says so
    return list(dict.fromkeys(found))


def finish(done: int, failed: int) -> None:
    """Exit with 0 if all images were read, 1 if none was, 3 if some were not; and say so."""
    if failed:
        typer.echo(f"seetell: {failed} of {done} images could not be read", err=True)
        raise typer.Exit(1 if failed == done else 3)


def _walk(folder: Path) -> Iterator[Path]:
    """Every file below a folder; links to folders are not followed, so that none is walked twice."""

    def unreadable(error: OSError) -> None:
        typer.echo(f"seetell: {error.filename}: this folder cannot be read ({error.strerror})", err=True)

    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names)
