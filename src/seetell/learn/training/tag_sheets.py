"""The figures and tables of Ren's section 5 for a run, as pictures and a page: learning curves, F1 by number of labels
and by label, perfect and wrong examples, and labels that come together."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from seetell.data import Record
from seetell.evaluation.tags import Company, LabelReport, TagAnalysis, analyse
from seetell.images import decode
from seetell.learn.page import Figure, Heading, Page, Paragraph, Table
from seetell.learn.training.curves import flat
from seetell.learn.training.label_data import LabelledPictures
from seetell.learn.training.tagging import Tagged
from seetell.metrics.labels import LabelCountScores
from seetell.pictures.sheet import save_picture
from seetell.pictures.tags import TaggedPicture, tag_sheet
from seetell.text import Vocabulary


def write_tag_sheets(
    name: str,
    records: Sequence[Record],
    data: LabelledPictures,
    tagged: Tagged,
    vocabulary: Vocabulary,
    history: Sequence[Mapping[str, Any]],
    out: Path,
    *,
    count: int = 12,
) -> TagAnalysis:
    """Write `tags.md` and `tags.html` with their pictures into a folder.

    Args:
        name: what the run is called.
        records: of the split, in the order of `data`.
        history: of the run's training.
        count: how many examples a sheet shows.
    """
    out.mkdir(parents=True, exist_ok=True)
    told = np.pad(tagged.chosen, ((0, 0), (0, data.truth.shape[1] - tagged.chosen.shape[1])))
    found = analyse(data.truth, told, data.labels)
    draw_learning(history, out / "learning.png")
    draw_by_count(found.by_count, out / "by-count.png")
    draw_by_label(found.by_label, out / "by-label.png")
    draw_company(found.company, out / "company.png")
    scores = tagged.scores(data.truth)
    page = Page(f"{name}: where it is good, and where it fails")
    page.add(
        Paragraph(
            f"{found.pictures:,} pictures: precision {scores['precision']:.1f}, recall {scores['recall']:.1f}, F1 of "
            f"the two {scores['f1_of_means']:.1f}, mean average precision {scores['map']:.1f}. {len(found.perfect):,} "
            f"pictures have all their labels and no other; of {len(found.wrong):,} every label is wrong."
        ),
        Heading("Training (Ren, Figures 5 and 6)"),
        Figure("learning.png", "Loss, and F1 on training and validation pictures, by epoch"),
        Heading("F1 by number of labels (Figure 7)"),
        Figure("by-count.png", "F1 of pictures with one label, two, …"),
        Table(
            ["labels", "pictures", "P", "R", "F1"],
            [
                [str(n), f"{s.samples:,}", f"{s.precision:.1f}", f"{s.recall:.1f}", f"{s.f1_of_means:.1f}"]
                for n, s in found.by_count.items()
            ],
        ),
        Heading("F1 by label (Figure 8)"),
        Figure("by-label.png", "F1 of every label"),
        Heading("Labels that come together"),
        Paragraph(_company_words(found)),
        Figure("company.png", "Shares in data against shares told"),
        Table(["of pictures with", "have also", "in data", "told"], [_row(pair) for pair in _apart(found.company)]),
    )
    for kind, places, title in (
        ("perfect", found.perfect, "Perfect predictions (Table 4)"),
        ("wrong", found.wrong, "Completely wrong predictions (Table 5)"),
    ):
        if places:
            shown = [_tagged_picture(records[place], tagged, place, vocabulary) for place in places[:count]]
            save_picture(tag_sheet(shown, f"{len(places):,} of {found.pictures:,} pictures"), out / f"{kind}.png")
            page.add(Heading(title), Figure(f"{kind}.png", title))
    page.write(out, "tags")
    return found


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


def _tagged_picture(record: Record, tagged: Tagged, place: int, vocabulary: Vocabulary) -> TaggedPicture:
    if tagged.sequences is not None:
        told = vocabulary.decode(tagged.sequences[place].tokens.tolist())
    else:
        chosen = np.flatnonzero(tagged.chosen[place])
        told = [
            vocabulary.words[label] for label in chosen[np.argsort(-tagged.confidence[place, chosen], kind="stable")]
        ]

    def opened() -> Image.Image:
        return decode(record.picture.read(), name=record.picture.name)

    return TaggedPicture(opened, record.labels, told)
