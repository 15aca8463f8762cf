"""The figures of Ren's section 5: learning curves, F1 by number of labels and by label, labels that occur together.

`reproduce` keeps all predictions in the run's folder, and in the row's record their `summary`, for drawing pages.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seetell.evaluation.tags import Booleans, TagAnalysis, analyse
from seetell.figures.page import Block, Figure, Heading, Paragraph, Table
from seetell.files import replacing, write_file
from seetell.metrics.flatten import flatten_metrics

if TYPE_CHECKING:  # result pages are drawn without PyTorch
    from seetell.learn.training.task import Prediction

PREDICTIONS = "predictions.jsonl"
EXAMPLES = 8
APART = 10  # pairs of labels in the table of largest differences
GRAIN = 2  # per cent: pairs of labels closer than this are one point


@dataclass(frozen=True)
class Predictions:
    """The names of images, their labels, and the predicted labels in the tagger's order."""

    images: Sequence[str]
    labels: Sequence[Sequence[str]]
    predicted: Sequence[Sequence[str]]

    @classmethod
    def of(cls, predictions: "Sequence[Prediction]") -> "Predictions":
        """The predictions of an evaluation."""
        return cls(*([getattr(each, name) for each in predictions] for name in ("image", "truth", "predicted")))

    def write(self, path: Path) -> None:
        """Write one JSON object per line and image."""
        rows = zip(self.images, self.labels, self.predicted, strict=True)
        lines = [{"image": image, "labels": list(labels), "predicted": list(found)} for image, labels, found in rows]
        write_file(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), sync=True)

    @classmethod
    def read(cls, path: Path) -> "Predictions":
        """Read what `write` wrote."""
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return cls(*([line[name] for line in lines] for name in ("image", "labels", "predicted")))

    def analysis(self) -> TagAnalysis:
        """Compare predicted with true labels."""
        names = sorted({label for labels in (*self.labels, *self.predicted) for label in labels})
        column = {name: index for index, name in enumerate(names)}

        def table(rows: Sequence[Sequence[str]]) -> Booleans:
            filled = np.zeros((len(rows), len(names)), dtype=bool)
            for row, labels in enumerate(rows):
                filled[row, [column[label] for label in labels]] = True
            return filled

        return analyse(table(self.labels), table(self.predicted), names)


def summary(found: TagAnalysis, predictions: Predictions | None = None) -> dict[str, Any]:
    """The part of an analysis that pages show, as JSON values; with predictions, also examples by image name, because
    the images themselves may not be redistributed."""
    by_count = {str(count): asdict(scores) for count, scores in found.by_count.items()}
    shares = Counter(
        (round(pair.in_data / GRAIN) * GRAIN, round(pair.in_predictions / GRAIN) * GRAIN) for pair in found.pairs
    )
    apart = sorted(found.pairs, key=lambda pair: -abs(pair.in_predictions - pair.in_data))[:APART]
    content: dict[str, Any] = {
        "images": found.images,
        "perfect": len(found.perfect),
        "wrong": len(found.wrong),
        "by_count": by_count,
        "by_label": [[report.label, report.f1] for report in found.by_label if report.f1 is not None],
        "correlation": found.correlation,
        "pairs": len(found.pairs),
        "shares": [[*point, count] for point, count in sorted(shares.items())],
        "apart": [[pair.first, pair.second, pair.in_data, pair.in_predictions] for pair in apart],
    }
    if predictions is not None:
        content["examples"] = {
            kind: [
                [predictions.images[index], list(predictions.labels[index]), list(predictions.predicted[index])]
                for index in indices[:EXAMPLES]
            ]
            for kind, indices in (("perfect", found.perfect), ("wrong", found.wrong))
        }
    return content


def tag_blocks(
    label: str, content: Mapping[str, Any], history: Sequence[Mapping[str, Any]], out: Path, prefix: str
) -> list[Block]:
    """The figures of one row and its examples.

    Args:
        label: the row's name.
        content: its `summary`.
        prefix: of the image files' names.
    """
    words = (
        f"{label}, the best label sequence: {content['perfect']:,} of {content['images']:,} images have exactly their "
        f"labels; for {content['wrong']:,} every predicted label is wrong."
    )
    blocks: list[Block] = [Heading("Strengths and failures of the best model"), Paragraph(words)]
    blocks += summary_blocks(content, history, out, prefix)
    for kind, title in (
        ("perfect", "Perfect predictions of many labels (Table 4)"),
        ("wrong", "Completely wrong predictions (Table 5)"),
    ):
        rows = [[image, ", ".join(have), ", ".join(got)] for image, have, got in content["examples"][kind]]
        if rows:
            blocks += [Heading(title, 3), Table(["image", "labels", "predicted"], rows)]
    return blocks


def summary_blocks(
    content: Mapping[str, Any], history: Sequence[Mapping[str, Any]], out: Path, prefix: str = ""
) -> list[Block]:
    """Draw the figures of a `summary` into a folder, and return the blocks of a page that shows them."""
    draw_learning(history, out / f"{prefix}learning.png")
    draw_by_count(content["by_count"], out / f"{prefix}by-count.png")
    draw_by_label(content["by_label"], out / f"{prefix}by-label.png")
    draw_pairs(content["shares"], out / f"{prefix}company.png")
    return [
        Heading("Training (Ren, Figures 5 and 6)", 3),
        Figure(f"{prefix}learning.png", "Loss, and F1 on training and validation images, by epoch"),
        Heading("F1 by number of labels (Figure 7)", 3),
        Figure(f"{prefix}by-count.png", "F1 of images with one label, two, …"),
        Table(
            ["labels", "images", "P", "R", "F1"],
            [
                [n, f"{s['samples']:,}", f"{s['precision']:.1f}", f"{s['recall']:.1f}", f"{s['f1_of_means']:.1f}"]
                for n, s in content["by_count"].items()
            ],
        ),
        Heading("F1 by label (Figure 8)", 3),
        Figure(f"{prefix}by-label.png", "F1 of every label"),
        Heading("Labels that occur together", 3),
        Paragraph(_pairs_text(content)),
        Figure(f"{prefix}company.png", "Shares in the data and in the predictions"),
        Table(
            ["images with", "that also have", "in the data (%)", "predicted (%)"],
            [[first, second, f"{data:.1f}", f"{found:.1f}"] for first, second, data, found in content["apart"]],
        ),
    ]


def draw_learning(history: Sequence[Mapping[str, Any]], path: Path) -> None:
    """The training loss (Figure 5), and F1 on training and validation images (Figure 6)."""
    figure, (left, right) = _subplots(1, 2, (9, 3.4))
    epochs = range(1, len(history) + 1)
    left.plot(epochs, [record["loss"] for record in history])
    left.set(xlabel="epoch", ylabel="training loss")
    figures = [flatten_metrics(record["metrics"]) for record in history]
    right.plot(epochs, [each["f1_of_means"] for each in figures], label="validation")
    right.plot(epochs, [each.get("train.f1_of_means", np.nan) for each in figures], label="training")
    right.set(xlabel="epoch", ylabel="F1")
    right.legend()
    _save(figure, path)


def draw_by_count(by_count: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """One bar per number of labels, with the number of images above it."""
    figure, axis = _subplots(1, 1, (7, 3.4))
    bars = axis.bar(list(by_count), [scores["f1_of_means"] for scores in by_count.values()])
    axis.bar_label(bars, [f"{scores['samples']:,}" for scores in by_count.values()], fontsize=7)
    axis.set(xlabel="labels", ylabel="F1", ylim=(0, 105))
    _save(figure, path)


def draw_by_label(scores: Sequence[tuple[str, float]], path: Path) -> None:
    """One bar per label, the best first."""
    figure, axis = _subplots(1, 1, (max(5.0, 0.17 * len(scores)), 4.2))
    axis.bar([label for label, _ in scores], [f1 for _, f1 in scores])
    axis.set(ylabel="F1", ylim=(0, 100))
    axis.tick_params(axis="x", rotation=90, labelsize=7)
    axis.margins(x=0.01)
    _save(figure, path)


def draw_pairs(shares: Sequence[tuple[float, float, int]], path: Path) -> None:
    """One point for all pairs of labels with about the same two shares; its size grows with their number."""
    figure, axis = _subplots(1, 1, (4.6, 4.6))
    axis.plot([0, 100], [0, 100], color="grey", linewidth=0.8)
    sizes = [6 * count**0.5 for *_, count in shares]
    axis.scatter([data for data, *_ in shares], [found for _, found, _ in shares], s=sizes, alpha=0.5)
    axis.set(xlabel="also have the second label, in the data (%)", ylabel="in the predictions (%)")
    _save(figure, path)


def _subplots(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, figsize=size, layout="constrained")


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    with replacing(path) as part:
        figure.savefig(part, format="png", dpi=110, metadata={"Software": None})
    pyplot.close(figure)


def _pairs_text(content: Mapping[str, Any]) -> str:
    if content["correlation"] is None:
        return "Too few labels are frequent enough to compare how often they occur together."
    return (
        "The share of images with one label that also have another, in the data and in the predictions: the two have a "
        f"correlation of {content['correlation']:.3f} over {content['pairs']:,} pairs. The {APART} largest differences:"
    )
