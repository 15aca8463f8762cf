"""What a page on captioners shows beside its table: captions told, how varied they are, where words were looked for.

All captions of a test are kept in the run's folder; of these a row's record keeps a few, of which pages are made.
Images are named, not shown: they are others'.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seetell.learn.files import write_text
from seetell.learn.reproduction.page import Block, Heading, Paragraph, Table

PREDICTIONS = "predictions.jsonl"
EXAMPLES = 4  # the best, and as many of the worst
SOME = 8  # the same images for every row


@dataclass(frozen=True)
class ToldCaption:
    """An image's name, its caption, what people wrote, and the caption's CIDEr."""

    image: str
    caption: str
    references: Sequence[str]
    cider: float


def write_captions(path: Path, captions: Sequence[ToldCaption]) -> None:
    """A JSON object an image and line."""
    write_text(path, "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in captions))


def read_captions(path: Path) -> list[ToldCaption]:
    return [ToldCaption(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def some_captions(told: Sequence[ToldCaption]) -> dict[str, list[dict[str, str]]]:
    """The best, the worst and some of all captions of a test; which some depends on how many there are, and nothing
    else, so that the rows of a table are seen side by side."""
    order = np.argsort([-one.cider for one in told], kind="stable")
    chosen = {
        "best": order[:EXAMPLES],
        "worst": order[: -EXAMPLES - 1 : -1],
        "some": np.random.default_rng(0).permutation(len(told))[:SOME],
    }
    return {kind: [_example(told[place]) for place in places.tolist()] for kind, places in chosen.items()}


def _example(one: ToldCaption) -> dict[str, str]:
    return {"image": one.image, "reference": one.references[0], "caption": one.caption}


@dataclass(frozen=True)
class CaptionRow:
    """A row as these figures see it: its name on the page, its test's metrics, and what `some_captions` kept."""

    label: str
    metrics: Mapping[str, float]
    captions: Mapping[str, Sequence[Mapping[str, Any]]]


def caption_blocks(rows: Sequence[CaptionRow]) -> list[Block]:
    """Examples of what was told, how varied it is, how far attention falls on what is named, where that is known."""
    if not rows:
        return []
    best = max(rows, key=lambda row: row.metrics["cider"])
    return [
        Heading("Captions", 3),
        Paragraph(f"The best and the worst of what {best.label} tells, by each image's CIDEr:"),
        Table(
            ["", "image", "the first of its references", "told"],
            [
                [kind, one["image"], one["reference"], one["caption"]]
                for kind in ("best", "worst")
                for one in best.captions[kind]
            ],
        ),
        Paragraph("Some images, chosen by chance, as every row tells them:"),
        _side_by_side(rows),
        *_variety(rows),
        *_attention(rows),
    ]


def _side_by_side(rows: Sequence[CaptionRow]) -> Table:
    told = {row.label: {one["image"]: one["caption"] for one in row.captions["some"]} for row in rows}
    lines = [
        [one["image"], one["reference"], *(captions.get(one["image"], "–") for captions in told.values())]
        for one in rows[0].captions["some"]
    ]
    return Table(["image", "the first of its references", *told], lines)


VARIETY = (
    ("words used", "vocabulary_used", "{:,.0f}"),
    ("words a caption", "mean_length", "{:.1f}"),
    ("captions told more than once, %", "repeated", "{:.1f}"),
    ("captions no training image has, %", "novel", "{:.1f}"),
)


def _variety(rows: Sequence[CaptionRow]) -> list[Block]:
    known = [(heading, key, style) for heading, key, style in VARIETY if all(key in row.metrics for row in rows)]
    lines = [[row.label, *(style.format(row.metrics[key]) for _, key, style in known)] for row in rows]
    return [Heading("Variety", 3), Table(["", *(heading for heading, _, _ in known)], lines)]


def _attention(rows: Sequence[CaptionRow]) -> list[Block]:
    keys = ("attention_on_things", "things_area", "attention_gain")
    lines = [[row.label, *(f"{row.metrics[key]:.1f}" for key in keys)] for row in rows if keys[-1] in row.metrics]
    if not lines:
        return []
    return [
        Heading("Where the words were looked for", 3),
        Paragraph(
            "Of words that name a thing whose place is known: attention on the thing, and its share of the view."
        ),
        Table(["", "attention on the thing, %", "its area, %", "times as much as by chance"], lines),
    ]
