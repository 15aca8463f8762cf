"""Exports a library for other programs: CSV, JSON lines, or XMP sidecar files."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seetell.errors import LibraryError
from seetell.files import csv_row, replacing, write_file
from seetell.images.xmp import as_xmp
from seetell.library.records import LibraryImage
from seetell.library.storage import rows
from seetell.library.storage.database import Database

COLUMNS = ("path", "caption", "tags", "description", "edited", "width", "height", "taken", "hash")


def all_images(database: Database) -> Iterator[LibraryImage]:
    """Every image in the order of the ids, in small transactions."""
    last = 0
    while True:
        with database.read() as connection:
            found = connection.execute("SELECT id FROM images WHERE id > ? ORDER BY id LIMIT 500", (last,)).fetchall()
            images = rows.images(connection, [row[0] for row in found])
        if not found:
            return
        yield from images
        last = found[-1][0]


def export(images: Iterable[LibraryImage], path: Path | None, kind: str) -> int:
    """Write images as `csv` or `jsonl` to one file, atomically, or as `xmp` next to each image.

    An image with several files has a row for each. Existing XMP files are not overwritten.

    Returns:
        The number of rows or files written.
    """
    formats: dict[str, Callable[[LibraryImage, str], str]] = {"csv": _csv_line, "jsonl": _json_line}
    if kind == "xmp":
        return sum(_write_sidecar(image, each) for image in images for each in image.files)
    if kind not in formats or path is None:
        raise LibraryError(f"there is no export format {kind!r}", remedy="Choose csv, jsonl or xmp")
    count = 0
    with (
        replacing(path, error=LibraryError) as part,
        open(part, "w", encoding="utf-8", newline="") as file,
    ):
        if kind == "csv":
            file.write(csv_row(COLUMNS, end="\r\n"))
        for image in images:
            for each in image.files:
                file.write(formats[kind](image, each))
                count += 1
    return count


def printable(path: str) -> str:
    """A path as text: bytes that are not UTF-8 become the replacement character."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def json_line(row: dict[str, object]) -> str:
    """A JSON object on one line; a path with bytes that are not UTF-8 is escaped, so that programs can restore it."""
    line = json.dumps(row, ensure_ascii=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(row)
    return line


def image_row(image: LibraryImage, path: str) -> dict[str, object]:
    """An image as JSON values, under the names of `COLUMNS`."""
    return {
        "path": path,
        "caption": image.caption,
        "tags": [{"label": tag.label, "confidence": round(tag.confidence, 4)} for tag in image.tags],
        "description": image.description,
        "edited": sorted(image.edited),
        "width": image.width,
        "height": image.height,
        "taken": time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(image.taken)),
        "hash": image.hash,
    }


def _json_line(image: LibraryImage, path: str) -> str:
    return json_line(image_row(image, path)) + "\n"


def _csv_line(image: LibraryImage, path: str) -> str:
    row = {
        **image_row(image, path),
        "path": printable(path),
        "tags": "; ".join(image.labels),
        "edited": " ".join(sorted(image.edited)),
    }
    return csv_row(list(row.values()), end="\r\n")


def _write_sidecar(image: LibraryImage, path: str) -> bool:
    target = os.path.splitext(path)[0] + ".xmp"
    if os.path.lexists(target):
        return False
    write_file(target, as_xmp(image.caption, image.labels), error=LibraryError)
    return True
