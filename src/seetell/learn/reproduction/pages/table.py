"""The page of a table, drawn from the records of its rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from seetell.figures.page import Block, Command, Figure, Heading, Page, Paragraph, Table, prose
from seetell.learn.reproduction.claims import CLAIMS, listed, mean, spread
from seetell.learn.reproduction.costs import COMMAND, FILE, Cost, Costs, read_costs
from seetell.learn.reproduction.pages.captions import CaptionRow, caption_blocks
from seetell.learn.reproduction.records import RecordError, RowRecord, by_row, read_records, stem
from seetell.learn.reproduction.tables import PublishedTable, Row, label, published
from seetell.learn.reproduction.tables.ren import LABEL_SEQUENCES
from seetell.learn.tasks.tagging.figures import tag_blocks
from seetell.learn.training import curves
from seetell.metrics.flatten import flatten_metrics
from seetell.progress import clock

VIEWS = {"centre": "one crop", "whole": "whole images squashed to squares"}
ABOUT = "about.md"  # next to a table's records: the introduction of its page

Rows = Mapping[str, Sequence[RowRecord]]  # row → its seeds


def write_table_page(table: PublishedTable, records: Sequence[RowRecord], records_folder: Path, out: Path) -> Path:
    """Write a table's page and its images into a folder; takes seconds.

    Args:
        records_folder: the folder of all tables' records, with the introductions of the pages and the rows' costs,
            where there are any.
    """
    out.mkdir(parents=True, exist_ok=True)
    page = Page(table.title)
    page.add(*prose(records_folder / table.name / ABOUT))
    costs = read_costs(records_folder / FILE)
    datasets = datasets_of(table, records)
    if not datasets:
        page.add(Paragraph(f"Not run: {table.absent}."), _rows_table(table, table.rows, {}, table.published_on))
    for number, dataset in enumerate(datasets):
        if len(datasets) > 1:
            page.add(Heading(f"On {dataset}"))
        suffix = "" if number == 0 else f"-{dataset}"
        page.add(*_dataset_blocks(table, by_row(records, dataset), dataset, costs, out, suffix))
    for sheet in sorted(out.glob(f"{table.name}-attention-*.png")):
        page.add(Figure(sheet.name, "The attention behind each word"))
    if records:
        page.add(Heading("Commands"), Command("\n".join(commands(table, records))))
    page.write(out, table.name)
    return out / f"{table.name}.md"


def table_records(table: PublishedTable, folder: Path) -> list[RowRecord]:
    """A table's records in the folder of all records; each must belong to one of its rows."""
    records, names = read_records(folder, table.name), {row.name for row in table.rows}
    for record in records:
        if record.row not in names:
            raise RecordError(
                f"{table.name} has no row {record.row!r}",
                where=str(folder / table.name / f"{record.stem}.json"),
                remedy="Remove the file, or rename the row to one of the table's",
            )
    return records


def datasets_of(table: PublishedTable, records: Sequence[RowRecord]) -> list[str]:
    """The datasets that rows ran on, the published one first."""
    return sorted({record.dataset for record in records}, key=lambda name: (name != table.published_on, name))


def commands(table: PublishedTable, records: Sequence[RowRecord]) -> list[str]:
    """The commands that reproduce all records, one for all rows with the same request."""
    rows: dict[tuple[object, ...], list[str]] = {}
    written: dict[tuple[object, ...], RowRecord] = {}
    order = [row.name for row in table.rows]
    seeds: dict[tuple[str, str], int] = {}
    for record in records:
        key = record.row, record.dataset
        seeds[key] = max(seeds.get(key, 0), record.seed)
    for record in sorted(records, key=lambda r: (r.dataset, order.index(r.row))):
        group = (record.dataset, record.request, seeds[record.row, record.dataset])
        written.setdefault(group, record)
        if record.row not in rows.setdefault(group, []):
            rows[group].append(record.row)
    return [
        record.request.command(table.name, record.dataset, rows[group], _seeds_option(table, group[-1]))
        for group, record in written.items()
    ]


def _seeds_option(table: PublishedTable, count: object) -> str:
    return "" if count == table.seeds else f"--seeds {count}"


def _dataset_blocks(
    table: PublishedTable, rows: Rows, dataset: str, costs: Costs, out: Path, suffix: str
) -> list[Block]:
    """The part of a page about one dataset."""
    blocks: list[Block] = [*_setting(table, rows, dataset)]
    results = {name: [record.flat for record in seeds] for name, seeds in rows.items()}
    for part in dict.fromkeys(row.part for row in table.rows):
        chosen = [row for row in table.rows if row.part == part]
        ran = [row for row in chosen if row.name in rows or not row.runs]
        if not any(row.name in rows for row in chosen):
            continue
        blocks += [Heading(part, 3)] if part else []
        blocks.append(_rows_table(table, ran, rows, dataset))
    blocks += [Paragraph(text) for text in CLAIMS[table.name](results)]
    left_out = [label(row) for row in table.rows if row.runs and row.name not in rows and (not suffix or not row.part)]
    if left_out:
        blocks.append(Paragraph(f"Not run here: {'; '.join(left_out)}."))
    blocks += _cost(table, rows, dataset, costs) if table.figures == "captions" else []
    blocks += _curves(table, rows, out, suffix)
    return [*blocks, *_figures(table, rows, out, suffix)]


def _setting(table: PublishedTable, rows: Rows, dataset: str) -> list[Block]:
    every = [record for seeds in rows.values() for record in seeds]
    encoders = "; ".join(dict.fromkeys(_encoder(record) for record in every))
    budgets = ", ".join(dict.fromkeys(f"`{record.request.budget}`" for record in every))
    counts = sorted({len(each) for each in rows.values()})
    seeds = f"{listed(counts, 'or')} seed{'s' if counts[-1] > 1 else ''}"
    seconds = sum(record.seconds for record in every)
    lines = [
        f"Measured on {dataset}, test split ({every[0].images:,} images), with the checkpoint that is best on the "
        f"validation split. Encoder: {encoders}. Budget: {budgets}; {seeds}; "
        f"{clock(seconds)} of training in total."
    ]
    if counts[-1] > 1:
        deviation = "" if table.main == "started" else "; ± is the standard deviation over seeds"
        lines.append(f"Figures and minutes of rows with several seeds are means{deviation}.")
    if dataset != table.published_on and not any(published(row, dataset) for row in table.rows):
        lines.append(
            f"The published figures are for {table.published_on}, another dataset: only the order of rows compares."
        )
    return [Paragraph(line) for line in lines]


def _encoder(record: RowRecord) -> str:
    crops = record.encoder["crops"]
    seen = f"{crops} crops" if crops > 1 else VIEWS[record.encoder["view"]]
    return f"{record.encoder['name'].partition('@')[0]}, {seen}"


def _rows_table(table: PublishedTable, rows: Sequence[Row], found: Rows, dataset: str) -> Table:
    """Published above measured, and the difference in the main metric."""
    head = ["", *(heading for heading, _ in table.columns), "Δ", "epochs", "minutes"]
    lines = []
    for row in rows:
        known = published_on(table, row, dataset)
        if known:
            cells = [_cell(metric, [known], table.seeds) for _, metric in table.columns]
            lines.append([f"{label(row)}, published", *cells, "", "", ""])
        if row.name not in found:
            continue
        seeds = [record.flat for record in found[row.name]]
        cells = [_cell(metric, seeds, len(seeds), metric == table.main) for _, metric in table.columns]
        minutes = fmean(seed["seconds"] for seed in seeds) / 60
        gap = difference(table, row, dataset, found[row.name])
        spent = [f"{max(seed['epochs'] for seed in seeds):.0f}", f"{minutes:.1f}"]
        lines.append([f"**{label(row)}, measured**", *cells, f"{gap:+.1f}" if gap is not None else "", *spent])
    return Table(head, lines)


def published_on(table: PublishedTable, row: Row, dataset: str) -> dict[str, float]:
    """The published figures of a row on a dataset or, if there are none, on the table's own."""
    return published(row, dataset) or published(row, table.published_on)


def difference(table: PublishedTable, row: Row, dataset: str, seeds: Sequence[RowRecord]) -> float | None:
    """Measured minus published in the main metric; None if they are of different datasets."""
    known = published(row, dataset).get(table.main)
    measured = mean({row.name: [record.flat for record in seeds]}, row.name, table.main)
    return None if known is None or measured is None else measured - known


def _cell(metric: str, seeds: Sequence[Mapping[str, float]], runs: int, main: bool = False) -> str:
    value = mean({"": seeds}, "", metric)
    if value is None:
        return "–"
    if metric == "started":
        return f"{value * runs:.0f}/{runs}"
    if metric.endswith("median_rank"):
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.1f}{plus_minus(spread({'': seeds}, '', metric) if main else None)}"


def plus_minus(deviation: float | None) -> str:
    """The suffix of a mean over several seeds."""
    return "" if deviation is None else f" ± {deviation:.1f}"


def _cost(table: PublishedTable, rows: Rows, dataset: str, costs: Costs) -> list[Block]:
    """The cost of rows: measured together if `benchmarks/rows.py` did, else from their own records."""
    known = {name: cost for name in rows if (cost := costs.get(stem(name, dataset)))}
    note = "Captions are generated in batches from stored features; encoding the images is not included."
    about: list[Block] = [Paragraph(note)]
    if known:
        about = [Paragraph(f"On one core, all rows taking turns in one run. {note}"), Command(COMMAND)]
    lines = []
    for row in (row for row in table.rows if row.name in rows):
        flat = rows[row.name][0].flat
        own = Cost(flat["seconds"], flat.get("samples_per_second", 0.0), flat.get("captions_per_second", 0.0))
        cost = known.get(row.name, Cost(0.0, 0.0) if known else own)
        figures = [f"{flat['parameters']:,.0f}", f"{cost.seconds / 60:.1f}"]
        figures += [f"{each:,.0f}" for each in (cost.samples_per_second, cost.captions_per_second)]
        lines.append([label(row), *("–" if float(figure.replace(",", "")) == 0 else figure for figure in figures)])
    head = ["", "parameters", "training, minutes", "training captions per second", "images captioned per second"]
    return [Heading("Speed", 3), *about, Table(head, lines)]


def _curves(table: PublishedTable, rows: Rows, out: Path, suffix: str) -> list[Block]:
    shown = [row for row in table.rows if row.name in rows and rows[row.name][0].history]
    drawn = [row for row in shown if not row.part] or shown
    if not drawn:
        return []
    histories = {label(row): rows[row.name][0].history for row in drawn}
    first = rows[drawn[0].name][0]
    known = flatten_metrics(first.history[0]["metrics"])
    metrics = [name for name in curves.SHOWN[first.task] if name in known][-2:]
    file = f"{table.name}{suffix}.png"
    curves.draw(histories, metrics, out / file, "on the validation split")
    return [Heading("Learning curves", 3), Figure(file, f"Learning curves of {table.title}")]


def _figures(table: PublishedTable, rows: Rows, out: Path, suffix: str) -> list[Block]:
    if table.figures == "captions":
        return caption_blocks(
            [
                CaptionRow(label(row), rows[row.name][0].flat, rows[row.name][0].figures["captions"])
                for row in table.rows
                if row.name in rows and not row.part and "captions" in rows[row.name][0].figures
            ]
        )
    analysed = [rows[name][0] for name in LABEL_SEQUENCES if name in rows and "tags" in rows[name][0].figures]
    if table.figures != "tags" or not analysed:
        return []
    best = max(analysed, key=lambda record: record.flat["f1_of_means"])
    return tag_blocks(label(table.row(best.row)), best.figures["tags"], best.history, out, f"{table.name}{suffix}-")
