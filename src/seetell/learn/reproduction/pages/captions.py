"""The captions part of a table's page: examples, variety, and how well attention matches the named objects.

An evaluation writes the captions of a whole test split into the run's folder; a row's record keeps a few of them.
Images are named, not shown: they belong to others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seetell.figures.page import Block, Heading, Paragraph, Table
from seetell.learn.tasks.captioning.predictions import CaptionPrediction

EXAMPLES = 4  # the best, and as many of the worst
RANDOM = 8  # the same images for every row


def example_captions(predictions: Sequence[CaptionPrediction]) -> dict[str, list[dict[str, str]]]:
    """The best, the worst and random captions of a test split, for a record.

    The random choice depends only on the number of images, so that the rows of a table show the same ones.
    """
    order = np.argsort([-one.cider for one in predictions], kind="stable")
    chosen = {
        "best": order[:EXAMPLES],
        "worst": order[: -EXAMPLES - 1 : -1],
        "random": np.random.default_rng(0).permutation(len(predictions))[:RANDOM],
    }
    return {kind: [_example(predictions[index]) for index in indices.tolist()] for kind, indices in chosen.items()}


def _example(one: CaptionPrediction) -> dict[str, str]:
    return {"image": one.image, "reference": one.references[0], "caption": one.caption}


@dataclass(frozen=True)
class CaptionRow:
    """A row with captions: its label, its test metrics, and its `example_captions`."""

    label: str
    metrics: Mapping[str, float]
    captions: Mapping[str, Sequence[Mapping[str, Any]]]


def caption_blocks(rows: Sequence[CaptionRow]) -> list[Block]:
    """Example captions, their variety and, where known, how much attention falls on named objects."""
    if not rows:
        return []
    best = max(rows, key=lambda row: row.metrics["cider"])
    return [
        Heading("Captions", 3),
        Paragraph(f"The best and the worst captions of {best.label}, by the CIDEr of each image:"),
        Table(
            ["", "image", "first reference", "caption"],
            [
                [kind, one["image"], one["reference"], one["caption"]]
                for kind in ("best", "worst")
                for one in best.captions[kind]
            ],
        ),
        Paragraph("Randomly chosen images, captioned by every row:"),
        _comparison(rows),
        *_variety(rows),
        *_attention(rows),
    ]


def _comparison(rows: Sequence[CaptionRow]) -> Table:
    by_row = {row.label: {one["image"]: one["caption"] for one in row.captions["random"]} for row in rows}
    lines = [
        [one["image"], one["reference"], *(captions.get(one["image"], "–") for captions in by_row.values())]
        for one in rows[0].captions["random"]
    ]
    return Table(["image", "first reference", *by_row], lines)


VARIETY = (
    ("distinct words", "vocabulary_used", "{:,.0f}"),
    ("words per caption", "mean_length", "{:.1f}"),
    ("repeated captions, %", "repeated", "{:.1f}"),
    ("captions not in the training set, %", "novel", "{:.1f}"),
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
        Heading("Attention on named objects", 3),
        Paragraph(
            "For words that name an object with a known bounding box: the share of attention inside the box, and the "
            "box's share of the visible area."
        ),
        Table(["", "attention on the object, %", "its area, %", "ratio to chance"], lines),
    ]
