"""A library for other programs: a table, JSON lines, XMP files beside the images; and tables of descriptions read."""

import contextlib
import csv
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seetell.data.rows import read_rows
from seetell.images.xmp import as_xmp
from seetell.library.records import Imported, LibraryError, LibraryImage
from seetell.library.storage import edits, store
from seetell.library.storage.database import Database

COLUMNS = ("path", "caption", "tags", "description", "edited", "width", "height", "taken", "hash")


def all_images(database: Database) -> Iterator[LibraryImage]:
    last = 0
    while True:
        with database.read() as connection:
            rows = connection.execute("SELECT id FROM images WHERE id > ? ORDER BY id LIMIT 500", (last,)).fetchall()
            found = store.images(connection, [row[0] for row in rows])
        if not rows:
            return
        yield from found
        last = rows[-1][0]


def export(images: Iterable[LibraryImage], out: Path | None, kind: str) -> int:
    """Write images as `csv` or `jsonl` to a file in one step, or as `xmp` beside each image; how many.

    An image with several files has a row for each. An XMP file that is there already is left as it is.
    """
    ways: dict[str, Callable[[LibraryImage, str], str]] = {"csv": _csv_row, "jsonl": _json_row}
    if kind == "xmp":
        return sum(_sidecar(image, path) for image in images for path in image.files)
    if kind not in ways or out is None:
        raise LibraryError(f"there is no export of the kind {kind!r}", remedy="Choose csv, jsonl or xmp")
    rows = 0
    part = out.with_name(f".{out.name}.part")
    try:
        with open(part, "w", encoding="utf-8", newline="") as file:
            if kind == "csv":
                file.write(",".join(COLUMNS) + "\r\n")
            for image in images:
                for path in image.files:
                    file.write(ways[kind](image, path))
                    rows += 1
        os.replace(part, out)
    except OSError as error:
        raise LibraryError(f"this file cannot be written: {error.strerror}", where=str(out)) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    return rows


def shown(path: str) -> str:
    """A path as text: bytes that are no UTF-8 as the replacement character."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def describe(database: Database, table: Path, images: Path | None = None) -> Imported:
    """Take descriptions from a table: files as they are named, below the table's folder or `images`, or by their names
    alone where only one image has it."""
    rows, skipped, _ = read_rows(table)
    with database.read() as connection:
        by_path: dict[str, int] = {}
        by_name: dict[str, set[int]] = {}
        for path, number in connection.execute("SELECT path, image FROM files WHERE image IS NOT NULL"):
            by_path[os.fsdecode(path)] = number
            by_name.setdefault(os.path.basename(os.fsdecode(path)), set()).add(number)
    texts: dict[int, list[str]] = {}
    missing = 0
    for row in rows:
        number = by_path.get(os.path.abspath((images or table.parent) / row.file))
        if number is None:
            alone = by_name.get(os.path.basename(row.file.replace("\\", "/")), set())
            number = next(iter(alone)) if len(alone) == 1 else None
        said = [*row.captions, *([", ".join(row.labels)] if row.labels else [])]
        if number is None or not said:
            missing += number is None
            continue
        texts.setdefault(number, []).extend(each for each in said if each not in texts.get(number, []))
    if texts:
        edits.describe(database, {number: " · ".join(said) for number, said in texts.items()})
    return Imported(len(texts), missing, tuple(f"{each.where}: {each.reason}" for each in skipped))


def json_line(row: dict[str, object]) -> str:
    """A JSON object on one line; a path with bytes that are no UTF-8 is escaped, so that a program gets it back."""
    line = json.dumps(row, ensure_ascii=False)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(row)
    return line


def row_of(image: LibraryImage, path: str) -> dict[str, object]:
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


def _json_row(image: LibraryImage, path: str) -> str:
    return json_line(row_of(image, path)) + "\n"


def _csv_row(image: LibraryImage, path: str) -> str:
    row = {
        **row_of(image, path),
        "path": shown(path),
        "tags": "; ".join(image.labels),
        "edited": " ".join(sorted(image.edited)),
    }
    # A text that a spreadsheet would run as a formula has an apostrophe before it.
    values = [
        f"'{each}" if isinstance(each, str) and each[:1] in ("=", "+", "-", "@", "\t") else each
        for each in row.values()
    ]
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue()


def _sidecar(image: LibraryImage, path: str) -> bool:
    target, part = (os.path.splitext(path)[0] + end for end in (".xmp", ".xmp.part"))
    if os.path.lexists(target):
        return False
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(as_xmp(image.caption, image.labels))
        os.replace(part, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise LibraryError(f"this file cannot be written: {error.strerror}", where=target) from None
    return True
