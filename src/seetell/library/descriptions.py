"""Imports descriptions of images from a table."""

import os
from pathlib import Path

from seetell.data.rows import TableRow, read_rows
from seetell.library.records import ImportReport
from seetell.library.storage import edits
from seetell.library.storage.database import Database


def import_descriptions(database: Database, table: Path, images: Path | None = None) -> ImportReport:
    """Take descriptions from a CSV, TSV or JSON lines file.

    Args:
        database: of the library.
        table: with a column for the file, and columns for captions or labels.
        images: the folder that file names start from; that of the table by default. A file that is not there is
            looked up by its name alone, if only one image has it.
    """
    found, skipped, _ = read_rows(table)
    lookup = _Lookup(database, images or table.parent)
    texts: dict[int, list[str]] = {}
    missing = 0
    for row in found:
        image = lookup.find(row)
        written = [*row.captions, *([", ".join(row.labels)] if row.labels else [])]
        if image is None:
            missing += 1
        elif written:
            texts.setdefault(image, []).extend(each for each in written if each not in texts.get(image, []))
    if texts:
        edits.set_descriptions(database, {image: " · ".join(written) for image, written in texts.items()})
    return ImportReport(len(texts), missing, tuple(f"{each.where}: {each.reason}" for each in skipped))


class _Lookup:
    """Finds the image of a table's row by path, or by a file name that only one image has."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._folder = folder
        self._by_path: dict[str, int] = {}
        self._by_name: dict[str, set[int]] = {}
        with database.read() as connection:
            for path, image in connection.execute("SELECT path, image FROM files WHERE image IS NOT NULL"):
                self._by_path[os.fsdecode(path)] = image
                self._by_name.setdefault(os.path.basename(os.fsdecode(path)), set()).add(image)

    def find(self, row: TableRow) -> int | None:
        image = self._by_path.get(os.path.abspath(self._folder / row.file))
        if image is not None:
            return image
        named = self._by_name.get(os.path.basename(row.file.replace("\\", "/")), set())
        return next(iter(named)) if len(named) == 1 else None
