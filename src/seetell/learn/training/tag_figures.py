"""The figures of Ren's section 5: learning curves, F1 by number of labels and by label, labels that come together; and
a test's predictions on disk, of which they are drawn again without the model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seetell.evaluation.tags import Booleans, Company, LabelReport, TagAnalysis, analyse
from seetell.learn.page import Block, Figure, Heading, Paragraph, Table
from seetell.learn.training.checkpoints import read_json, write_text
from seetell.learn.training.curves import flat
from seetell.learn.training.run import Run
from seetell.metrics.labels import LabelCountScores

PREDICTIONS = "predictions.jsonl"


@dataclass(frozen=True)
class Predictions:
    """Pictures' names, the labels they have, and the labels they were given, in the tagger's order."""

    pictures: Sequence[str]
    labels: Sequence[Sequence[str]]
    told: Sequence[Sequence[str]]

    def write(self, path: Path) -> None:
        """A JSON object a picture and line."""
        rows = zip(self.pictures, self.labels, self.told, strict=True)
        lines = [{"picture": picture, "labels": list(labels), "told": list(told)} for picture, labels, told in rows]
        write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    @classmethod
    def read(cls, path: Path) -> "Predictions":
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        pictures, labels, told = ([line[name] for line in lines] for name in ("picture", "labels", "told"))
        return cls(pictures, labels, told)

    def analysis(self) -> TagAnalysis:
        names = sorted({label for labels in (*self.labels, *self.told) for label in labels})
        column = {name: place for place, name in enumerate(names)}

        def table(rows: Sequence[Sequence[str]]) -> Booleans:
            filled = np.zeros((len(rows), len(names)), dtype=bool)
            for row, labels in enumerate(rows):
                filled[row, [column[label] for label in labels]] = True
            return filled

        return analyse(table(self.labels), table(self.told), names)


def figures_of_best(runs: Mapping[str, Path], out: Path, prefix: str, *, examples: int = 8) -> list[Block]:
    """The figures of the best of some tested runs; its examples by name, because the pictures are not ours to show.

    Args:
        runs: recipe → the run's folder, with `result.json` and, for those that count, predictions.
        out: the page's folder.
        prefix: what the pictures' names begin with.
    """
    scores = {
        name: read_json(folder / "result.json")["metrics"]["f1_of_means"]
        for name, folder in runs.items()
        if (folder / PREDICTIONS).exists()
    }
    if not scores:
        return []
    best = max(scores, key=lambda name: scores[name])
    run, predictions = Run.open(runs[best]), Predictions.read(runs[best] / PREDICTIONS)
    found = predictions.analysis()
    words = (
        f"Of {run.recipe.row}, the best label sequence: {len(found.perfect):,} of {found.pictures:,} pictures have "
        f"all their labels and no other; of {len(found.wrong):,} every label told is wrong."
    )
    blocks: list[Block] = [Heading("Where the best is good, and where it fails"), Paragraph(words)]
    blocks += analysis_blocks(found, run.history(), out, prefix)
    for places, title in (
        (found.perfect, "Perfect predictions of many labels (Table 4)"),
        (found.wrong, "Completely wrong predictions (Table 5)"),
    ):
        rows = [
            [predictions.pictures[place], ", ".join(predictions.labels[place]), ", ".join(predictions.told[place])]
            for place in places[:examples]
        ]
        if rows:
            blocks += [Heading(title, 3), Table(["picture", "labels", "told"], rows)]
    return blocks


def analysis_blocks(
    found: TagAnalysis, history: Sequence[Mapping[str, Any]], out: Path, prefix: str = ""
) -> list[Block]:
    """Draw the figures into a folder, and what a page shows of them."""
    draw_learning(history, out / f"{prefix}learning.png")
    draw_by_count(found.by_count, out / f"{prefix}by-count.png")
    draw_by_label(found.by_label, out / f"{prefix}by-label.png")
    draw_company(found.company, out / f"{prefix}company.png")
    return [
        Heading("Training (Ren, Figures 5 and 6)", 3),
        Figure(f"{prefix}learning.png", "Loss, and F1 on training and validation pictures, by epoch"),
        Heading("F1 by number of labels (Figure 7)", 3),
        Figure(f"{prefix}by-count.png", "F1 of pictures with one label, two, …"),
        Table(
            ["labels", "pictures", "P", "R", "F1"],
            [
                [str(n), f"{s.samples:,}", f"{s.precision:.1f}", f"{s.recall:.1f}", f"{s.f1_of_means:.1f}"]
                for n, s in found.by_count.items()
            ],
        ),
        Heading("F1 by label (Figure 8)", 3),
        Figure(f"{prefix}by-label.png", "F1 of every label"),
        Heading("Labels that come together", 3),
        Paragraph(_company_words(found)),
        Figure(f"{prefix}company.png", "Shares in data against shares told"),
        Table(["of pictures with", "have also", "in data", "told"], [_row(pair) for pair in _apart(found.company)]),
    ]


def draw_learning(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """The training loss (Figure 5), and F1 on training and validation pictures (Figure 6)."""
    figure, (left, right) = _subplots(1, 2, (9, 3.4))
    epochs = range(1, len(history) + 1)
    left.plot(epochs, [record["loss"] for record in history])
    left.set(xlabel="epoch", ylabel="training loss")
    figures = [flat(record["metrics"]) for record in history]
    right.plot(epochs, [each["f1_of_means"] for each in figures], label="validation")
    right.plot(epochs, [each.get("train.f1_of_means", np.nan) for each in figures], label="training")
    right.set(xlabel="epoch", ylabel="F1")
    right.legend()
    _save(figure, path)


def draw_by_count(by_count: Mapping[int, LabelCountScores], path: Path) -> None:
    """A bar a number of labels, with the number of pictures above it."""
    figure, axis = _subplots(1, 1, (7, 3.4))
    bars = axis.bar([str(n) for n in by_count], [scores.f1_of_means for scores in by_count.values()])
    axis.bar_label(bars, [f"{scores.samples:,}" for scores in by_count.values()], fontsize=7)
    axis.set(xlabel="labels", ylabel="F1", ylim=(0, 105))
    _save(figure, path)


def draw_by_label(reports: Sequence[LabelReport], path: Path) -> None:
    """A bar a label, the best first."""
    known = [report for report in reports if report.f1 is not None]
    figure, axis = _subplots(1, 1, (max(5.0, 0.17 * len(known)), 4.2))
    axis.bar([report.label for report in known], [report.f1 or 0.0 for report in known])
    axis.set(ylabel="F1", ylim=(0, 100))
    axis.tick_params(axis="x", rotation=90, labelsize=7)
    axis.margins(x=0.01)
    _save(figure, path)


def draw_company(company: Sequence[Company], path: Path) -> None:
    """A point a pair of labels."""
    figure, axis = _subplots(1, 1, (4.6, 4.6))
    axis.plot([0, 100], [0, 100], color="grey", linewidth=0.8)
    axis.scatter([pair.in_data for pair in company], [pair.told for pair in company], s=6, alpha=0.5)
    axis.set(xlabel="have the second label, too, in data (%)", ylabel="were told it (%)")
    _save(figure, path)


def _subplots(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, figsize=size, layout="constrained")


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    temporary = path.with_name(path.name + ".part")
    figure.savefig(temporary, format="png", dpi=110)
    pyplot.close(figure)
    temporary.replace(path)


def _company_words(found: TagAnalysis) -> str:
    if found.correlation is None:
        return "Too few labels are frequent enough to say how often they come together."
    return (
        "Of the pictures with one label, how many have another, too, in data and in what was told: the two shares have "
        f"a correlation of {found.correlation:.3f} over {len(found.company):,} pairs. The ten that differ most:"
    )


def _apart(company: Sequence[Company], count: int = 10) -> list[Company]:
    return sorted(company, key=lambda pair: -abs(pair.told - pair.in_data))[:count]


def _row(pair: Company) -> list[str]:
    return [pair.first, pair.second, f"{pair.in_data:.1f}", f"{pair.told:.1f}"]
