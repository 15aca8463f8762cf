"""Reproduce a published table: train its rows, keep a record of each, and write the page.

OUT/runs/ROW.DATASET[.seedN]/             the runs; a finished one is kept, an interrupted one is resumed
OUT/rows/TABLE/ROW.DATASET[.seedN].json   the records, all that pages need; or in another folder
OUT/TABLE.md, .html, .png                 the page, redrawn from the records each time

Tables that share a folder share its runs: a row that two of them have is trained once.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from seetell.data import Dataset, ImageFile, Record
from seetell.errors import SeetellError
from seetell.learn.reproduction.pages.table import table_records, write_table_page
from seetell.learn.reproduction.rows import Reproduction, finished, run_row
from seetell.learn.reproduction.tables import FILES, Row, label
from seetell.learn.tasks.captioning.sheets import write_attention_sheets
from seetell.learn.training.features import open_data
from seetell.learn.training.run import Run

SHOWN = 3  # drawn images whose attention is shown


def reproduce(
    request: Reproduction, *, rows: Sequence[str] = (), seeds: Sequence[int] | None = None, records: Path | None = None
) -> Path:
    """Train the rows that have not been trained yet, and write the page of all that have.

    Args:
        request: the table, the data and the settings.
        rows: names or labels of rows; by default all that can be run.
        seeds: which seeds each row is trained with; by default as many as the table has.
        records: the folder of records; by default `rows` next to the page.

    Returns:
        The path of the page.

    Example:
        >>> request = Reproduction(table("vilalta-table2"), ["flickr8k:data/flickr8k"], Path("out"))  # doctest: +SKIP
        >>> reproduce(request, rows=["FNE-MH"])  # doctest: +SKIP
        PosixPath('out/vilalta-table2.md')
    """
    table = request.table
    records = records or request.out / "rows"
    for row in _chosen(request, rows):
        for seed in seeds or range(1, table.seeds + 1):
            record = finished(request.folder(row.name, seed)) or run_row(request, row, seed)
            msgspec.structs.replace(record, table=table.name).write(records / table.name)
    _attention_sheets(request)
    return write_table_page(table, table_records(table, records), records, request.out)


def _chosen(request: Reproduction, names: Sequence[str]) -> list[Row]:
    """The rows with these names or labels; by default all that can be run with the given files."""
    table = request.table
    runnable = [row for row in table.rows if row.runs]
    if names:
        return [_named(request, runnable, name) for name in names]
    for row in runnable:
        if missing := request.missing_files(row):
            request.progress.message(
                f"skipped: {label(row)}, which needs {FILES[missing[0]]} (--with {missing[0]}=FILE)"
            )
    return [row for row in runnable if not request.missing_files(row)]


def _named(request: Reproduction, runnable: Sequence[Row], name: str) -> Row:
    known = {word.lower(): row for row in reversed(runnable) for word in (label(row), row.name)}
    if name.lower() not in known:
        raise SeetellError(
            f"{request.table.name} has no row {name!r}", remedy=f"Its rows: {', '.join(row.name for row in runnable)}"
        )
    row = known[name.lower()]
    if missing := request.missing_files(row):
        raise SeetellError(
            f"the row {row.name} needs {FILES[missing[0]]}", remedy=f"Add the file: --with {missing[0]}=FILE"
        )
    return row


def _attention_sheets(request: Reproduction) -> None:
    """Draw the attention behind captions of given images or drawn scenes; a dataset's images are not ours to show."""
    if request.table.figures != "captions":
        return
    if request.show:
        shown = Dataset("shown", tuple(Record(path.name, ImageFile(path), split="test") for path in request.show))
    elif all(spec.startswith("scenes") for spec in request.data):
        scenes = open_data(request.data)
        shown = replace(scenes, records=tuple(scenes.split("test")[:SHOWN]))
    else:
        return
    folders = {label(row): request.folder(row.name, 1) for row in request.table.rows if not row.part}
    runs = {
        name: Run.open(folder)
        for name, folder in folders.items()
        if (record := finished(folder)) is not None and record.settings["model"].get("kind") == "attend"
    }
    records: list[Record] = []
    seen = {}
    for name, run in runs.items():
        training_data = run.encode(shown, "test", store=request.store)
        records, images = training_data.split("test", lambda record: True)
        seen[name] = (run, images)
    write_attention_sheets(seen, records, range(len(records)), request.out, prefix=f"{request.table.name}-")


def given_files(pairs: Sequence[str]) -> dict[str, str]:
    """The files of `--with NAME=FILE`, by name."""
    files = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not equals or name not in FILES:
            known = "; ".join(f"{key}=FILE ({about})" for key, about in FILES.items())
            raise SeetellError(f"unknown file --with {pair}", remedy=f"Choose one of: {known}")
        if not Path(file).expanduser().exists():
            raise SeetellError("no such file", where=file, remedy=f"Give a file with {FILES[name]}")
        files[name] = str(Path(file).expanduser())
    return files
