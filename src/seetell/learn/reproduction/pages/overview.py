"""All result pages from records: one page per table, one across all tables, an index, and the README's table.

FOLDER/rows/TABLE/*.json     the records
FOLDER/rows/TABLE/about.md   the introduction of a table's page
FOLDER/TABLE.md, .html, .png drawn
FOLDER/across.md, README.md  drawn

It takes seconds, needs no data, features or runs, and does not load PyTorch. The output is deterministic.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from seetell.errors import SeetellError
from seetell.figures.page import Heading, Page, Paragraph, Table, markdown
from seetell.files import write_file
from seetell.learn.reproduction.claims import mean, spread
from seetell.learn.reproduction.pages.across import write_across
from seetell.learn.reproduction.pages.table import (
    datasets_of,
    difference,
    plus_minus,
    published_on,
    table_records,
    write_table_page,
)
from seetell.learn.reproduction.records import RowRecord, by_row
from seetell.learn.reproduction.tables import TABLES, PublishedTable, label, published
from seetell.progress import clock

BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
MEASURED = re.compile(r"^\| \*\*(.+), measured\*\* \|", re.MULTILINE)
METRICS = {
    "sum_of_recalls": "sum of recalls",
    "bleu4_no_bp": "BLEU-4 without penalty",
    "cider": "CIDEr",
    "f1_of_means": "F1 of means",
    "started": "runs that started",
}

Records = Mapping[str, Sequence[RowRecord]]  # table → records


def write_results(folder: Path, readme: Path | None = None) -> list[str]:
    """Draw every page that has records.

    Args:
        folder: the folder of the pages, docs/results.
        readme: a file that gets the headline rows, between two markers.

    Returns:
        One line per page: what was written, or why it was left unchanged.
    """
    if not (folder / "rows").is_dir():
        raise SeetellError(
            "there are no records",
            where=str(folder / "rows"),
            remedy="Make some with `seetell learn reproduce --records`",
        )
    records = {name: table_records(table, folder / "rows") for name, table in TABLES.items()}
    lines = [_write_table(TABLES[name], found, folder) for name, found in records.items()]
    write_across(records, folder)
    write_index(records, folder)
    lines += [str(folder / "across.md"), str(folder / "README.md")]
    if readme is not None:
        write_readme(records, folder, readme)
        lines.append(str(readme))
    return [line for line in lines if line]


def _write_table(table: PublishedTable, records: Sequence[RowRecord], folder: Path) -> str:
    """Draw a table's page, unless that would drop rows that have no record."""
    if not records and not table.absent:
        return ""
    page = folder / f"{table.name}.md"
    lost = sorted(_measured(page) - {label(table.row(record.row)) for record in records})
    if lost:
        return f"unchanged: {page} has rows without a record: {', '.join(lost)}; run them, or remove the page"
    return str(write_table_page(table, records, folder / "rows", folder))


def _measured(page: Path) -> set[str]:
    return set(MEASURED.findall(page.read_text(encoding="utf-8"))) if page.exists() else set()


def headline(table: PublishedTable, records: Sequence[RowRecord]) -> list[list[str]]:
    """Row, dataset, published, measured, difference and minutes of the rows that represent a table."""
    lines = []
    for dataset in datasets_of(table, records) or [table.published_on]:
        rows = by_row(records, dataset)
        for name in table.headline:
            row, seeds = table.row(name), rows.get(name, ())
            known = published_on(table, row, dataset).get(table.main)
            elsewhere = "" if published(row, dataset) else f" ({table.published_on})"
            results = {name: [record.flat for record in seeds]}
            found = mean(results, name, table.main)
            deviation = "" if table.main == "started" else plus_minus(spread(results, name, table.main))
            gap = difference(table, row, dataset, seeds)
            style = "{:.0%}" if table.main == "started" else "{:.1f}"
            lines.append(
                [
                    label(row),
                    dataset,
                    "–" if known is None else style.format(known) + elsewhere,
                    "not run" if found is None else f"**{style.format(found)}**{deviation}",
                    "" if gap is None else (f"{100 * gap:+.0f}" if table.main == "started" else f"{gap:+.1f}"),
                    f"{fmean(record.seconds for record in seeds) / 60:.1f}" if seeds else "",
                ]
            )
    return lines


def write_index(records: Records, folder: Path) -> None:
    """The index: the headline rows of all tables, and links to every other page of the folder."""
    page = Page("Results")
    # A row that two tables share is one run.
    runs = {(each.row, each.dataset, each.seed): each.seconds for found in records.values() for each in found}
    page.add(
        Paragraph(
            "Published and measured figures on the test splits, one page per table. Every figure comes from the record "
            "of a row below `rows/`, which also contains the command that reproduces it; `make results` redraws the "
            "pages. Δ is measured minus published, where both are for the same dataset. "
            f"The {len(runs)} runs took {clock(sum(runs.values()))} of training in total."
        )
    )
    for name, table in TABLES.items():
        drawn = (folder / f"{name}.md").exists()
        page.add(Heading(f"[{table.title}]({name}.md)" if drawn else table.title))
        if not records[name]:
            page.add(Paragraph(_nothing(table, folder)))
            continue
        head = ["", "on", f"published, {METRICS[table.main]}", "measured", "Δ", "minutes"]
        page.add(Table(head, headline(table, records[name])))
        ran = {record.row for record in records[name]}
        missing = [label(row) for row in table.rows if row.runs and row.name not in ran]
        if missing:
            page.add(Paragraph(f"Not run: {'; '.join(missing)}."))
    page.add(Heading("More pages"), Paragraph(", ".join(_others(folder)) + "."))
    write_file(folder / "README.md", page.markdown())


def _nothing(table: PublishedTable, folder: Path) -> str:
    if table.absent:
        return f"Not run: {table.absent}."
    if _measured(folder / f"{table.name}.md"):
        return "No row has a record yet. The page shows runs from before records were kept."
    return "Not run yet."


def _others(folder: Path) -> list[str]:
    """Links to the pages that belong to no table, by title."""
    own = {*TABLES, "README"}
    pages = [path for path in sorted(folder.glob("*.md")) if path.stem not in own]
    return [f"[{path.read_text(encoding='utf-8').partition(chr(10))[0].lstrip('# ')}]({path.name})" for path in pages]


def write_readme(records: Records, folder: Path, readme: Path) -> None:
    """Write the headline rows that ran between the two markers of a file."""
    text = readme.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SeetellError(
            "the markers of the results table are missing or repeated",
            where=str(readme),
            remedy=f"Put {BEGIN} and {END} once each, on lines of their own, where the table belongs",
        )
    where = Path(folder.name) if folder.parent == readme.parent else folder.relative_to(readme.parent)
    lines = [
        [f"[{table.title.partition(':')[0]}]({(where / name).as_posix()}.md)", row, METRICS[table.main], *figures]
        for name, table in TABLES.items()
        for row, *figures in headline(table, records[name])
        if records[name] and figures[2] != "not run"
    ]
    if lines:
        page = Table(["", "row", "figure", "on", "published", "measured", "Δ", "minutes"], lines)
        drawn = markdown(page)
    else:
        drawn = "No row has a record yet."
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    write_file(readme, f"{before}{BEGIN}\n{drawn}\n{END}{after}")
