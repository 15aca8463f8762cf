"""The page of a table, drawn from its rows' records and nothing else."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from seetell.learn.reproduction.caption_figures import CaptionRow, caption_blocks
from seetell.learn.reproduction.claims import SAYS, enumerated, mean, spread
from seetell.learn.reproduction.costs import COMMAND, FILE, Cost, Costs, read_costs
from seetell.learn.reproduction.page import Block, Command, Figure, Heading, Page, Paragraph, Table, prose
from seetell.learn.reproduction.records import RecordError, RowRecord, by_row, read_records, stem
from seetell.learn.reproduction.tables import LABEL_SEQUENCES, PublishedTable, Row, label, published
from seetell.learn.tasks.tagging.figures import tag_blocks
from seetell.learn.training import curves
from seetell.progress import clock

VIEWS = {"centre": "one crop", "whole": "whole images squashed to squares"}
ABOUT = "about.md"  # beside a table's records: what a person says about it

Rows = Mapping[str, Sequence[RowRecord]]  # row → its seeds


def write_table_page(table: PublishedTable, records: Sequence[RowRecord], kept: Path, out: Path) -> Path:
    """Write a table's page and its images into a folder; takes seconds.

    Args:
        kept: the folder of all tables' records, with the prose that the page begins with and the rows' costs, where
            there are such.
    """
    out.mkdir(parents=True, exist_ok=True)
    page = Page(table.title)
    page.add(*prose(kept / table.name / ABOUT))
    costs = read_costs(kept / FILE)
    datasets = datasets_of(table, records)
    if not datasets:
        page.add(Paragraph(f"Not run: {table.absent}."), _rows_table(table, table.rows, {}, table.published_on))
    for place, dataset in enumerate(datasets):
        if len(datasets) > 1:
            page.add(Heading(f"On {dataset}"))
        page.add(*_on(table, by_row(records, dataset), dataset, costs, out, "" if place == 0 else f"-{dataset}"))
    for sheet in sorted(out.glob(f"{table.name}-attention-*.png")):
        page.add(Figure(sheet.name, "One panel a word: where it was looked for"))
    if records:
        page.add(Heading("Commands"), Command("\n".join(commands(table, records))))
    page.write(out, table.name)
    return out / f"{table.name}.md"


def table_records(table: PublishedTable, folder: Path) -> list[RowRecord]:
    """A table's records in the folder of all tables' records; each must be of one of its rows."""
    records, names = read_records(folder, table.name), {row.name for row in table.rows}
    for record in records:
        if record.row not in names:
            raise RecordError(
                f"{table.name} has no row {record.row!r}",
                where=str(folder / table.name / f"{record.stem}.json"),
                remedy="Remove it, or name it as the table does",
            )
    return records


def datasets_of(table: PublishedTable, records: Sequence[RowRecord]) -> list[str]:
    """The datasets that rows ran on, the published one first."""
    return sorted({record.dataset for record in records}, key=lambda name: (name != table.published_on, name))


def commands(table: PublishedTable, records: Sequence[RowRecord]) -> list[str]:
    """What gives all records, rows that were asked for in the same way in one line."""
    together: dict[tuple[object, ...], list[str]] = {}
    first: dict[tuple[object, ...], RowRecord] = {}
    seeds = {key: max(r.seed for r in records if (r.row, r.dataset) == key) for key in {_key(r) for r in records}}
    order = [row.name for row in table.rows]
    for record in sorted(records, key=lambda r: (r.dataset, order.index(r.row))):
        asked = (record.dataset, record.asked, seeds[_key(record)])
        first.setdefault(asked, record)
        rows = together.setdefault(asked, [])
        if record.row not in rows:
            rows.append(record.row)
    return [
        first[asked].command(rows, seeds=count if (count := seeds[_key(first[asked])]) != table.seeds else 0)
        for asked, rows in together.items()
    ]


def _key(record: RowRecord) -> tuple[str, str]:
    return record.row, record.dataset


def _on(table: PublishedTable, rows: Rows, dataset: str, costs: Costs, out: Path, suffix: str) -> list[Block]:
    """What a page says of one dataset."""
    blocks: list[Block] = [*_setting(table, rows, dataset)]
    results = {name: [record.flat for record in seeds] for name, seeds in rows.items()}
    for part in dict.fromkeys(row.part for row in table.rows):
        chosen = [row for row in table.rows if row.part == part]
        ran = [row for row in chosen if row.name in rows or not row.runs]
        if not any(row.name in rows for row in chosen):
            continue
        blocks += [Heading(part, 3)] if part else []
        blocks.append(_rows_table(table, ran, rows, dataset))
    blocks += [Paragraph(text) for text in SAYS[table.name](results)]
    left_out = [label(row) for row in table.rows if row.runs and row.name not in rows and (not suffix or not row.part)]
    if left_out:
        blocks.append(Paragraph(f"Not run here: {'; '.join(left_out)}."))
    blocks += _cost(table, rows, dataset, costs) if table.figures == "captions" else []
    blocks += _curves(table, rows, out, suffix)
    return [*blocks, *_figures(table, rows, out, suffix)]


def _setting(table: PublishedTable, rows: Rows, dataset: str) -> list[Block]:
    every = [record for seeds in rows.values() for record in seeds]
    encoders = "; ".join(dict.fromkeys(_encoder(record) for record in every))
    budgets = ", ".join(dict.fromkeys(f"`{record.asked.budget}`" for record in every))
    counts = sorted({len(each) for each in rows.values()})
    seeds = f"{enumerated(counts, 'or')} seed{'s' if counts[-1] > 1 else ''}"
    seconds = sum(record.seconds for record in every)
    lines = [
        f"Measured on {dataset}, test split ({every[0].images:,} images), with the model that was best on the "
        f"validation split. Encoder: {encoders}. Budget {budgets}; {seeds}; "
        f"{clock(seconds)} of training in all."
    ]
    if counts[-1] > 1:
        around = "" if table.main == "started" else ", and ± is the standard deviation over seeds"
        lines.append(f"With several seeds figures and minutes are means{around}.")
    if dataset != table.published_on and not any(published(row, dataset) for row in table.rows):
        lines.append(
            f"The published figures are of {table.published_on}, another dataset: they show the order of rows only."
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
    """What was published for a row on a dataset or, where nothing was, on the table's own."""
    return published(row, dataset) or published(row, table.published_on)


def difference(table: PublishedTable, row: Row, dataset: str, seeds: Sequence[RowRecord]) -> float | None:
    """How far the main metric is above the published one; of another dataset, no difference would mean anything."""
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
    return f"{value:.1f}{give_or_take(spread({'': seeds}, '', metric) if main else None)}"


def give_or_take(deviation: float | None) -> str:
    """What follows a mean over several seeds."""
    return "" if deviation is None else f" ± {deviation:.1f}"


def _cost(table: PublishedTable, rows: Rows, dataset: str, costs: Costs) -> list[Block]:
    """What rows cost, as one run measured it; where none did, by their own clocks."""
    known = {name: cost for name in rows if (cost := costs.get(stem(name, dataset)))}
    told = "Telling is from stored features, many images at once; reading an image comes on top."
    about: list[Block] = [Paragraph(told)]
    if known:
        about = [Paragraph(f"Of one core, all rows taking turns in one run. {told}"), Command(COMMAND)]
    lines = []
    for row in (row for row in table.rows if row.name in rows):
        flat = rows[row.name][0].flat
        clocked = Cost(flat["seconds"], flat.get("samples_a_second", 0.0), flat.get("told_a_second", 0.0))
        cost = known.get(row.name, Cost(0.0, 0.0) if known else clocked)
        figures = [f"{flat['parameters']:,.0f}", f"{cost.seconds / 60:.1f}"]
        figures += [f"{each:,.0f}" for each in (cost.samples_a_second, cost.told_a_second)]
        lines.append([label(row), *("–" if float(figure.replace(",", "")) == 0 else figure for figure in figures)])
    head = ["", "parameters", "training, minutes", "captions trained a second", "images told a second"]
    return [Heading("Speed", 3), *about, Table(head, lines)]


def _curves(table: PublishedTable, rows: Rows, out: Path, suffix: str) -> list[Block]:
    shown = [row for row in table.rows if row.name in rows and rows[row.name][0].history]
    drawn = [row for row in shown if not row.part] or shown
    if not drawn:
        return []
    histories = {label(row): rows[row.name][0].history for row in drawn}
    first = rows[drawn[0].name][0]
    known = curves.flat(first.history[0]["metrics"])
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
    told = [rows[name][0] for name in LABEL_SEQUENCES if name in rows and "tags" in rows[name][0].figures]
    if table.figures != "tags" or not told:
        return []
    best = max(told, key=lambda record: record.flat["f1_of_means"])
    called = label(table.row(best.row))
    return tag_blocks(called, best.figures["tags"], best.history, out, f"{table.name}{suffix}-")
