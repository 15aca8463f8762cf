"""Train the rows of a published table, and write what was measured beside what was published.

OUT/runs/<recipe>[-seed<n>]/    the runs; a finished one is kept, a stopped one is resumed
OUT/<table>.md, .html, .png     the page, made anew from the stored runs each time
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seetell.errors import SeetellError
from seetell.learn.losses import started_above
from seetell.learn.page import Command, Figure, Heading, Page, Paragraph, Table
from seetell.learn.recipes import Recipe, load
from seetell.learn.tables import PublishedTable, published_figures
from seetell.learn.training import curves
from seetell.learn.training.checkpoints import read_json, write_json
from seetell.learn.training.loop import State
from seetell.learn.training.run import Run, family, train
from seetell.learn.training.tag_figures import PREDICTIONS
from seetell.progress import SILENT, Progress, clock

VIEWS = {"centre": "one crop", "whole": "whole pictures squashed to squares"}
START_EPOCHS = 30  # Table 5 of Vilalta: a run that has not started by then has failed


def reproduce(
    table: PublishedTable,
    specs: Sequence[str],
    out: Path,
    *,
    dataset: str = "",
    rows: Sequence[str] = (),
    budget: str = "two-cores",
    settings: Sequence[str] = (),
    seeds: int = 0,
    root: Path | None = None,
    progress: Progress = SILENT,
    say: Callable[[str], object] = lambda line: None,
) -> Path:
    """Train the rows asked for (all without) that have not been trained, then write the page of all that have.

    Args:
        dataset: what the data is where `specs` do not say it: COCO's pictures in a table of one's own are `coco`.
    """
    kind = dataset or specs[0].partition(":")[0]
    for recipe_name in _chosen(table, rows):
        for seed in range(1, (seeds or table.seeds) + 1):
            folder = _folder(out, recipe_name, seed)
            if (folder / "result.json").exists():
                continue
            more = [*settings, f"training.seed={seed}"]
            recipe = load(recipe_name, dataset=kind, budget=budget, settings=more)
            say(f"{recipe.row}, seed {seed}: {folder}")
            stop = _until_started(recipe) if table.stop_when_started else None
            _train_row(recipe, specs, folder, stop, root=root, progress=progress, say=say)
    return write_page(table, specs, out, kind)


def _train_row(
    recipe: Recipe,
    specs: Sequence[str],
    folder: Path,
    stop: Callable[[State], bool] | None,
    *,
    root: Path | None,
    progress: Progress,
    say: Callable[[str], object],
) -> None:
    run = train(
        recipe,
        specs,
        folder,
        resume=(folder / "run.json").exists(),
        root=root,
        progress=progress,
        say=say,
        stop=stop or (lambda state: False),
    )
    history = run.history()
    materials = run.materials(specs, "test", root=root, progress=progress)
    result = family(recipe.family).evaluate(run, materials, "test", {"predictions": folder / PREDICTIONS})
    result["seconds"] = round(sum(record["seconds"] for record in history), 1)
    result["epochs"] = len(history)
    write_json(folder / "result.json", result)


def _until_started(recipe: Recipe) -> Callable[[State], bool]:
    """Stop at the first step after an epoch that scored above the threshold, or after `START_EPOCHS`."""

    def stop(state: State) -> bool:
        last = state.history[-1] if state.history else None
        return last is not None and (last["score"] > started_above(1000, 5000) or len(state.history) >= START_EPOCHS)

    return stop


def _folder(out: Path, recipe: str, seed: int) -> Path:
    return out / "runs" / (recipe if seed == 1 else f"{recipe}-seed{seed}")


def _chosen(table: PublishedTable, rows: Sequence[str]) -> list[str]:
    if not rows:
        return list(table.rows)
    known = {label.lower(): name for name in table.rows for label in (name, load(name).row)}
    wrong = [row for row in rows if row.lower() not in known]
    if wrong:
        raise SeetellError(
            f"{table.name} has no row {wrong[0]!r}",
            remedy=f"Its rows: {', '.join(name.upper() for name in table.rows)}",
        )
    return [known[row.lower()] for row in rows]


def write_page(table: PublishedTable, specs: Sequence[str], out: Path, dataset: str = "") -> Path:
    """Write the page of a table from the runs that are finished; takes seconds."""
    runs = {name: _finished(out, name) for name in table.rows}
    runs = {name: found for name, found in runs.items() if found}
    if not runs:
        raise SeetellError("no row has been trained yet", where=str(out))
    results = {name: [_figures(run, result) for run, result in found] for name, found in runs.items()}
    page = Page(table.title)
    kind = dataset or specs[0].partition(":")[0]
    first = next(iter(runs.values()))[0][0]
    page.add(*_setting(table, specs, runs, first, kind))
    page.add(_table(table, results, kind))
    page.add(*(Paragraph(text) for text in table.says(results)))
    left_out = [load(name).row or name for name in table.rows if name not in runs]
    if left_out:
        page.add(Paragraph(f"Not run here: {', '.join(left_out)}."))
    histories = {found[0][0].recipe.row: found[0][0].history() for found in runs.values()}
    drawn = [
        name
        for name in family(first.recipe.family).CURVES
        if name in curves.flat(next(iter(histories.values()))[0]["metrics"])
    ]
    curves.draw(histories, drawn[-2:], out / f"{table.name}.png", "on the validation split")
    page.add(Heading("Learning curves"), Figure(f"{table.name}.png", f"Learning curves of {table.title}"))
    if table.figures is not None:
        page.add(*table.figures({name: found[0][0].path for name, found in runs.items()}, out, f"{table.name}-"))
    page.write(out, table.name)
    return out / f"{table.name}.md"


def _finished(out: Path, name: str) -> list[tuple[Run, Mapping[str, Any]]]:
    folders = [_folder(out, name, seed) for seed in range(1, 100)]
    return [(Run.open(f), read_json(f / "result.json")) for f in folders if (f / "result.json").exists()]


def _figures(run: Run, result: Mapping[str, Any]) -> dict[str, float]:
    figures = curves.flat(result["metrics"])
    started = [record["epoch"] for record in run.history() if record["score"] > started_above(1000, 5000)]
    figures["started"] = float(bool(started))
    if started:
        figures["started_in"] = float(started[0])
    return {**figures, "seconds": float(result["seconds"]), "epochs": float(result["epochs"])}


def _setting(table: PublishedTable, specs: Sequence[str], runs: Mapping[str, Any], first: Run, kind: str) -> list[Any]:
    recipe = first.recipe
    seconds = sum(result["seconds"] for found in runs.values() for _, result in found)
    seeds = max(len(found) for found in runs.values())
    kinds = sorted({kind, *(spec.partition(":")[0] for spec in specs[1:])})
    crops = f"{recipe.encoder.crops} crops" if recipe.encoder.crops > 1 else VIEWS[recipe.encoder.view]
    lines = [
        f"Measured on {', '.join(kinds)}, test split, with the model that was best on the validation split. Encoder "
        f"{recipe.encoder.name.partition('@')[0]}, {crops}; budget `{recipe.budget}`; "
        f"{seeds} seed{'s' if seeds > 1 else ''}; {clock(seconds)} of training in all.",
    ]
    if kind != table.published_on:
        lines.append(
            f"The published figures are of {table.published_on}, another dataset: they show the order of rows only."
        )
    wanted = ",".join(runs)
    given = specs[0].partition(":")[0]
    data = f"{given}:PATH" if given == kind else f"{given}:PATH --dataset {kind}"
    command = f"seetell learn reproduce {table.name} --data {data} --out DIR --rows {wanted}"
    return [*(Paragraph(line) for line in lines), Command(command)]


def _table(table: PublishedTable, results: Mapping[str, Sequence[Mapping[str, float]]], kind: str) -> Table:
    """Published and measured in one cell, and the difference in the main metric."""
    head = ["", *(f"{heading}" for heading, _ in table.columns), "Δ", "epochs", "minutes"]
    rows = []
    for name, seeds in results.items():
        recipe = load(name)
        figures = published_figures(recipe.published.get(kind) or recipe.published.get(table.published_on, {}))
        published = [_number(figures.get(metric)) for _, metric in table.columns]
        measured = [_mean(seeds, metric) for _, metric in table.columns]
        main = _mean(seeds, table.main)
        gap = main - figures[table.main] if main is not None and table.main in figures else None
        if figures:
            rows.append([f"{recipe.row}, published", *published, "", "", ""])
        minutes = sum(seed["seconds"] for seed in seeds) / 60
        spent = [f"{seeds[0]['epochs']:.0f}", f"{minutes:.1f}"]
        rows.append(
            [f"**{recipe.row}, measured**", *map(_number, measured), f"{gap:+.1f}" if gap is not None else "", *spent]
        )
    return Table(head, rows)


def _mean(seeds: Sequence[Mapping[str, float]], metric: str) -> float | None:
    values = [seed[metric] for seed in seeds if metric in seed]
    return sum(values) / len(values) if values else None


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value == int(value) and abs(value) > 100 else f"{value:.1f}"
