"""The figures of Ren's section 5: learning curves, F1 by number of labels and by label, labels that come together.

All predictions of a test are kept in the run's folder; a row's record keeps their `summary`, of which pages are drawn.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seetell.evaluation.tags import Booleans, TagAnalysis, analyse
from seetell.figures.page import Block, Figure, Heading, Paragraph, Table
from seetell.learn.files import write_text
from seetell.learn.training.curves import flat

PREDICTIONS = "predictions.jsonl"
EXAMPLES = 8
APART = 10  # pairs of labels that are named
GRAIN = 2  # per cent: pairs of labels nearer than this are one point


@dataclass(frozen=True)
class Predictions:
    """Images' names, the labels they have, and the labels they were given, in the tagger's order."""

    images: Sequence[str]
    labels: Sequence[Sequence[str]]
    told: Sequence[Sequence[str]]

    def write(self, path: Path) -> None:
        """A JSON object an image and line."""
        rows = zip(self.images, self.labels, self.told, strict=True)
        lines = [{"image": image, "labels": list(labels), "told": list(told)} for image, labels, told in rows]
        write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    @classmethod
    def read(cls, path: Path) -> "Predictions":
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        images, labels, told = ([line[name] for line in lines] for name in ("image", "labels", "told"))
        return cls(images, labels, told)

    def analysis(self) -> TagAnalysis:
        names = sorted({label for labels in (*self.labels, *self.told) for label in labels})
        column = {name: place for place, name in enumerate(names)}

        def table(rows: Sequence[Sequence[str]]) -> Booleans:
            filled = np.zeros((len(rows), len(names)), dtype=bool)
            for row, labels in enumerate(rows):
                filled[row, [column[label] for label in labels]] = True
            return filled

        return analyse(table(self.labels), table(self.told), names)


def summary(found: TagAnalysis, predictions: Predictions | None = None) -> dict[str, Any]:
    """What pages show of an analysis, as JSON holds it; with predictions, examples by name, because the images are
    not ours to show."""
    by_count = {str(count): asdict(scores) for count, scores in found.by_count.items()}
    shares = Counter(
        (round(pair.in_data / GRAIN) * GRAIN, round(pair.in_predictions / GRAIN) * GRAIN) for pair in found.pairs
    )
    apart = sorted(found.pairs, key=lambda pair: -abs(pair.in_predictions - pair.in_data))[:APART]
    told: dict[str, Any] = {
        "images": found.images,
        "perfect": len(found.perfect),
        "wrong": len(found.wrong),
        "by_count": by_count,
        "by_label": [[report.label, report.f1] for report in found.by_label if report.f1 is not None],
        "correlation": found.correlation,
        "pairs": len(found.pairs),
        "shares": [[*place, count] for place, count in sorted(shares.items())],
        "apart": [[pair.first, pair.second, pair.in_data, pair.in_predictions] for pair in apart],
    }
    if predictions is not None:
        told["examples"] = {
            kind: [
                [predictions.images[place], list(predictions.labels[place]), list(predictions.told[place])]
                for place in places[:EXAMPLES]
            ]
            for kind, places in (("perfect", found.perfect), ("wrong", found.wrong))
        }
    return told


def tag_blocks(
    label: str, told: Mapping[str, Any], history: Sequence[Mapping[str, Any]], out: Path, prefix: str
) -> list[Block]:
    """The figures of one row and its examples.

    Args:
        label: what the row is called.
        told: its `summary`.
        prefix: what the images' names begin with.
    """
    words = (
        f"Of {label}, the best label sequence: {told['perfect']:,} of {told['images']:,} images have all their "
        f"labels and no other; of {told['wrong']:,} every label told is wrong."
    )
    blocks: list[Block] = [Heading("Where the best is good, and where it fails"), Paragraph(words)]
    blocks += summary_blocks(told, history, out, prefix)
    for kind, title in (
        ("perfect", "Perfect predictions of many labels (Table 4)"),
        ("wrong", "Completely wrong predictions (Table 5)"),
    ):
        rows = [[image, ", ".join(have), ", ".join(got)] for image, have, got in told["examples"][kind]]
        if rows:
            blocks += [Heading(title, 3), Table(["image", "labels", "told"], rows)]
    return blocks


def summary_blocks(
    told: Mapping[str, Any], history: Sequence[Mapping[str, Any]], out: Path, prefix: str = ""
) -> list[Block]:
    """Draw the figures of a `summary` into a folder, and what a page shows of them."""
    draw_learning(history, out / f"{prefix}learning.png")
    draw_by_count(told["by_count"], out / f"{prefix}by-count.png")
    draw_by_label(told["by_label"], out / f"{prefix}by-label.png")
    draw_company(told["shares"], out / f"{prefix}company.png")
    return [
        Heading("Training (Ren, Figures 5 and 6)", 3),
        Figure(f"{prefix}learning.png", "Loss, and F1 on training and validation images, by epoch"),
        Heading("F1 by number of labels (Figure 7)", 3),
        Figure(f"{prefix}by-count.png", "F1 of images with one label, two, …"),
        Table(
            ["labels", "images", "P", "R", "F1"],
            [
                [n, f"{s['samples']:,}", f"{s['precision']:.1f}", f"{s['recall']:.1f}", f"{s['f1_of_means']:.1f}"]
                for n, s in told["by_count"].items()
            ],
        ),
        Heading("F1 by label (Figure 8)", 3),
        Figure(f"{prefix}by-label.png", "F1 of every label"),
        Heading("Labels that come together", 3),
        Paragraph(_company_words(told)),
        Figure(f"{prefix}company.png", "Shares in data against shares told"),
        Table(
            ["of images with", "have also", "in data", "told"],
            [[first, second, f"{data:.1f}", f"{said:.1f}"] for first, second, data, said in told["apart"]],
        ),
    ]


def draw_learning(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """The training loss (Figure 5), and F1 on training and validation images (Figure 6)."""
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


def draw_by_count(by_count: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """A bar a number of labels, with the number of images above it."""
    figure, axis = _subplots(1, 1, (7, 3.4))
    bars = axis.bar(list(by_count), [scores["f1_of_means"] for scores in by_count.values()])
    axis.bar_label(bars, [f"{scores['samples']:,}" for scores in by_count.values()], fontsize=7)
    axis.set(xlabel="labels", ylabel="F1", ylim=(0, 105))
    _save(figure, path)


def draw_by_label(scores: Sequence[tuple[str, float]], path: Path) -> None:
    """A bar a label, the best first."""
    figure, axis = _subplots(1, 1, (max(5.0, 0.17 * len(scores)), 4.2))
    axis.bar([label for label, _ in scores], [f1 for _, f1 in scores])
    axis.set(ylabel="F1", ylim=(0, 100))
    axis.tick_params(axis="x", rotation=90, labelsize=7)
    axis.margins(x=0.01)
    _save(figure, path)


def draw_company(shares: Sequence[tuple[float, float, int]], path: Path) -> None:
    """A point for the pairs of labels with about the same two shares, larger the more they are."""
    figure, axis = _subplots(1, 1, (4.6, 4.6))
    axis.plot([0, 100], [0, 100], color="grey", linewidth=0.8)
    sizes = [6 * count**0.5 for *_, count in shares]
    axis.scatter([data for data, *_ in shares], [told for _, told, _ in shares], s=sizes, alpha=0.5)
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
    figure.savefig(temporary, format="png", dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    temporary.replace(path)


def _company_words(told: Mapping[str, Any]) -> str:
    if told["correlation"] is None:
        return "Too few labels are frequent enough to say how often they come together."
    return (
        "Of the images with one label, how many have another, too, in data and in what was told: the two shares have "
        f"a correlation of {told['correlation']:.3f} over {told['pairs']:,} pairs. The {APART} that differ most:"
    )
