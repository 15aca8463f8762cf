"""The documents' tables: which recipes are their rows, which figures their columns, and what they are asked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seetell.errors import SeetellError

if TYPE_CHECKING:
    from seetell.learn.page import Block

PIPELINES = ("sh-bl", "sh", "mh-bl", "mh", "soe-bl", "soe", "moe-bl", "moe", "ph", "poe")
RETRIEVAL = (
    ("i→t R@1", "image_to_text.r1"),
    ("R@5", "image_to_text.r5"),
    ("R@10", "image_to_text.r10"),
    ("Med", "image_to_text.median_rank"),
    ("t→i R@1", "text_to_image.r1"),
    ("R@5", "text_to_image.r5"),
    ("R@10", "text_to_image.r10"),
    ("Med", "text_to_image.median_rank"),
    ("Sum", "sum_of_recalls"),
)
WITHOUT_PENALTY = tuple((f"BLEU-{n} without penalty", f"bleu{n}_no_bp") for n in (1, 2, 3, 4))
CAPTIONS = (
    *((f"BLEU-{n}", f"bleu{n}") for n in (1, 2, 3, 4)),
    ("METEOR", "meteor"),
    ("ROUGE-L", "rouge_l"),
    ("CIDEr", "cider"),
    ("next word", "next_word_accuracy"),
)
TAGS = (
    ("P", "precision"),
    ("R", "recall"),
    ("F1", "f1_of_means"),
    ("F1 by picture", "f1"),
    ("C-F1", "c_f1"),
    ("O-F1", "o_f1"),
    ("mAP", "map"),
)
Results = Mapping[str, Sequence[Mapping[str, float]]]  # recipe → the flat metrics of each seed


@dataclass(frozen=True)
class PublishedTable:
    """A table of a document.

    Args:
        published_on: the dataset its figures are of.
        rows: recipes, in the document's order.
        columns: heading and flat metric name.
        main: the metric that rows are compared by.
        seeds: how often each row is trained.
        says: sentences about the measured figures.
        stop_when_started: a run ends as soon as it has learned anything, or has not after 30 epochs.
        figures: what the page shows beside the table, given the folders of the finished runs by recipe, the folder of
            the page and the name that the page's pictures begin with.
    """

    name: str
    title: str
    document: str
    published_on: str
    rows: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    main: str
    says: Callable[[Results], list[str]]
    seeds: int = 1
    stop_when_started: bool = False
    figures: Callable[[Mapping[str, Path], Path, str], list["Block"]] | None = None


def published_figures(published: Mapping[str, Any]) -> dict[str, float]:
    """A recipe's published figures, flat; the sum of recalls where all six are there."""
    from seetell.learn.training.curves import flat

    figures = flat(published)
    recalls = [figures.get(f"{side}.r{k}") for side in ("image_to_text", "text_to_image") for k in (1, 5, 10)]
    if all(value is not None for value in recalls):
        figures["sum_of_recalls"] = sum(value for value in recalls if value is not None)
    return figures


def mean(results: Results, recipe: str, metric: str) -> float | None:
    """A metric of a recipe, averaged over its seeds; None where it has not run."""
    values = [seed[metric] for seed in results.get(recipe, ()) if metric in seed]
    return sum(values) / len(values) if values else None


def full_network_says(results: Results) -> list[str]:
    """Whether the full-network embedding wins everywhere, and whether by more than pipelines differ."""
    gains: dict[str, float] = {}
    scores: dict[str, list[float]] = {"fc7": [], "fne": []}
    for pipeline in PIPELINES:
        pair = [mean(results, f"{side}-{pipeline}", "sum_of_recalls") for side in ("fc7", "fne")]
        if pair[0] is not None and pair[1] is not None:
            gains[pipeline.upper().replace("BL", "bl")] = pair[1] - pair[0]
            scores["fc7"].append(pair[0])
            scores["fne"].append(pair[1])
    if not gains:
        return []
    won = [name for name, gain in gains.items() if gain > 0]
    listed = ", ".join(f"{name} {gain:+.1f}" for name, gain in gains.items())
    average = sum(gains.values()) / len(gains)
    lines = [
        f"The full-network embedding has the higher sum of recalls in {len(won)} of the {len(gains)} pipelines that "
        f"ran with both embeddings: {listed}; on average {average:+.1f}."
    ]
    if len(gains) > 1:
        spread = {side: max(values) - min(values) for side, values in scores.items()}
        lines.append(
            f"Between the best and the worst of these pipelines lie {spread['fc7']:.1f} points with FC7 and "
            f"{spread['fne']:.1f} with FNE. The document finds that FNE always wins, and by more than pipelines "
            f"differ; here the first {'holds' if len(won) == len(gains) else 'does not hold'} and the second "
            f"{'holds' if average > max(spread.values()) else 'does not hold'}."
        )
    return lines


def starts_say(results: Results) -> list[str]:
    """How often training started."""
    counts = {name: f"{sum(s['started'] for s in seeds):.0f}/{len(seeds)}" for name, seeds in results.items()}
    listed = ", ".join(f"{name.removeprefix('table5-').upper()} {count}" for name, count in counts.items())
    return [f"Runs that started to learn: {listed}."] if counts else []


def triplets_say(results: Results) -> list[str]:
    """Whether ten hard negatives are so much worse than one."""
    one, ten = (mean(results, f"two-branch-{k}", "sum_of_recalls") for k in ("k1", "k10"))
    if one is None or ten is None:
        return []
    verdict = "as in the document" if ten < 0.6 * one else "unlike in the document, where it collapses"
    return [f"With ten hard negatives the sum of recalls is {ten:.1f}, with one {one:.1f}: {verdict}."]


def attention_says(results: Results) -> list[str]:
    """Whether hard attention beats soft, as in the document."""
    soft, hard = (mean(results, f"attend-{kind}", "bleu4_no_bp") for kind in ("soft", "hard"))
    if soft is None or hard is None:
        return []
    verdict = "as in the document" if hard > soft else "unlike in the document"
    return [f"BLEU-4 without penalty is {hard:.1f} with hard attention and {soft:.1f} with soft: {verdict}."]


def families_say(results: Results) -> list[str]:
    """The captioners from best to worst."""
    scores = {name: score for name in results if (score := mean(results, name, "cider")) is not None}
    listed = ", ".join(f"{name} {scores[name]:.1f}" for name in sorted(scores, key=lambda name: -scores[name]))
    return [f"By CIDEr: {listed}."] if len(scores) > 1 else []


def caption_figures(runs: Mapping[str, Path], out: Path, prefix: str) -> list["Block"]:
    """Examples of captions, how varied they are, and the attention of words."""
    from seetell.learn.training.caption_figures import figures_of_captions

    return figures_of_captions(runs, out, prefix)


LABEL_SEQUENCES = ("init-attn", "joint", "joint-attn", "seq2seq-attn", "init", "seq2seq")


def sequences_say(results: Results) -> list[str]:
    """Whether label sequences beat the CNN alone, which of them is best, and whether attention helps."""
    scores = {name: score for name in results if (score := mean(results, name, "f1_of_means")) is not None}
    told = {name: scores[name] for name in LABEL_SEQUENCES if name in scores}
    alone = {name: scores[name] for name in ("warp", "softmax", "bce") if name in scores}
    lines = []
    if told and alone:
        verdict = "holds" if min(told.values()) > max(alone.values()) else "does not hold"
        lines.append(
            f"The document finds every label sequence better than the CNN alone, which gives pictures three labels. "
            f"Here the label sequences have an F1 of {_range(told.values())}, the CNN alone {_range(alone.values())}: "
            f"it {verdict}."
        )
    if len(told) > 1:
        best = max(told, key=lambda name: told[name])
        lines.append(
            f"The document's best is CNN seq2seq with 69.5, before CNN as initialisation and seq2seq with attention, "
            f"both 69.4. Here the best of the rows that ran is {best} with {told[best]:.1f}; between the best and the "
            f"worst of them lie {max(told.values()) - min(told.values()):.1f} points."
        )
    gains = {
        name: told[f"{name}-attn"] - told[name]
        for name in ("joint", "init", "seq2seq")
        if {name, f"{name}-attn"} <= told.keys()
    }
    if gains:
        listed = ", ".join(f"{gain:+.1f} for {name}" for name, gain in gains.items())
        lines.append(
            f"What attention adds to F1: {listed}. In the document: +1.1 for joint, −5.3 for init, −0.1 for seq2seq."
        )
    return lines


def _range(values: Iterable[float]) -> str:
    low, high = min(values := list(values)), max(values)
    return f"{low:.1f}" if len(values) == 1 else f"{low:.1f} to {high:.1f}"


def tag_figures(runs: Mapping[str, Path], out: Path, prefix: str) -> list["Block"]:
    """Figures 5 to 8 and Tables 4 and 5 of Ren for the best label sequence, and for best-tags."""
    from seetell.learn.training.tag_figures import figures_of_best

    return figures_of_best({name: folder for name, folder in runs.items() if name in LABEL_SEQUENCES}, out, prefix)


def _vilalta(number: int, dataset: str) -> PublishedTable:
    rows = tuple(f"{side}-{pipeline}" for pipeline in PIPELINES for side in ("fc7", "fne"))
    title = f"Vilalta et al., Table {number}: visual-semantic pipelines, FC7 against FNE"
    name = f"vilalta-table{number}"
    return PublishedTable(name, title, "vilalta", dataset, rows, RETRIEVAL, "sum_of_recalls", full_network_says)


def _kolluru(number: int, dataset: str) -> PublishedTable:
    rows = ("two-branch-k1", "two-branch-k10", "two-branch-semi-hard", "two-branch-all")
    title = f"Kolluru, Table {number}: the two-branch network and its negatives"
    return PublishedTable(
        f"kolluru-table{number}", title, "kolluru", dataset, rows, RETRIEVAL, "sum_of_recalls", triplets_say
    )


TABLES = {
    table.name: table
    for table in (
        _vilalta(2, "flickr8k"),
        _vilalta(3, "flickr30k"),
        _vilalta(4, "coco"),
        PublishedTable(
            "vilalta-table5",
            "Vilalta et al., Table 5: how often training starts",
            "vilalta",
            "flickr8k",
            tuple(f"table5-{side}-moe-{kind}" for side in ("fc7", "fne") for kind in ("bl", "bl-abs", "abs")),
            (("started", "started"), ("epoch it started in", "started_in"), ("Sum", "sum_of_recalls")),
            "started",
            starts_say,
            seeds=5,
            stop_when_started=True,
        ),
        PublishedTable(
            "xu-table1",
            "Xu et al., Table 1: soft and hard attention",
            "xu",
            "flickr8k",
            ("attend-soft", "attend-hard", "best-caption"),
            (*WITHOUT_PENALTY, *CAPTIONS),
            "bleu4_no_bp",
            attention_says,
            figures=caption_figures,
        ),
        PublishedTable(
            "vaishali",
            "Vaishali et al.: the merge captioner and its relatives",
            "vaishali",
            "flickr8k",
            ("merge", "initial", "convolutional", "attend-soft"),
            (*WITHOUT_PENALTY, *CAPTIONS),
            "cider",
            families_say,
            figures=caption_figures,
        ),
        PublishedTable(
            "ren-table3",
            "Ren, Table 3: label sequences against the CNN alone",
            "ren",
            "coco",
            ("warp", "softmax", "bce", *LABEL_SEQUENCES, "best-tags"),
            TAGS,
            "f1_of_means",
            sequences_say,
            figures=tag_figures,
        ),
        _kolluru(1, "flickr30k"),
        _kolluru(2, "coco"),
    )
}


def table(name: str) -> PublishedTable:
    if name not in TABLES:
        raise SeetellError(f"there is no table {name!r}", remedy=f"There are: {', '.join(TABLES)}")
    return TABLES[name]
