"""What a page on captioners shows beside its table: captions told, and where the words were looked for.

A test's captions are kept on disk, so that pages are made again without the models. Pictures are shown only where the
package drew them itself; others are named.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from seetell.learn.page import Block, Figure, Heading, Paragraph, Table
from seetell.learn.training.caption_sheets import write_attention_sheets
from seetell.learn.training.checkpoints import read_json, write_text
from seetell.learn.training.materials import captioned
from seetell.learn.training.run import Run
from seetell.progress import SILENT

PREDICTIONS = "predictions.jsonl"
EXAMPLES = 4  # of each kind
SEEN = 3  # pictures whose attention is shown


@dataclass(frozen=True)
class ToldCaption:
    """A picture's name, its caption, what people wrote, and the caption's CIDEr."""

    picture: str
    caption: str
    references: Sequence[str]
    cider: float


def write_captions(path: Path, captions: Sequence[ToldCaption]) -> None:
    """A JSON object a picture and line."""
    write_text(path, "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in captions))


def read_captions(path: Path) -> list[ToldCaption]:
    return [ToldCaption(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def figures_of_captions(runs: Mapping[str, Path], out: Path, prefix: str) -> list[Block]:
    """Examples of what tested runs told, how varied it is, and, of drawn pictures, the attention of those that attend.

    Args:
        runs: recipe → the run's folder, with `result.json` and, for those that count, captions.
        out: the page's folder.
        prefix: what the pictures' names begin with.
    """
    tested = {name: Run.open(path) for name, path in runs.items() if (path / PREDICTIONS).exists()}
    if not tested:
        return []
    metrics = {name: read_json(run.path / "result.json")["metrics"] for name, run in tested.items()}
    told = {name: read_captions(run.path / PREDICTIONS) for name, run in tested.items()}
    best = max(metrics, key=lambda name: float(metrics[name]["cider"]))
    return [
        Heading("Captions"),
        Paragraph(f"Pictures by the CIDEr of what {tested[best].recipe.row} tells: the best, the worst, and some."),
        _examples(told, {name: run.recipe.row for name, run in tested.items()}, best),
        *_variety(metrics, {name: run.recipe.row for name, run in tested.items()}),
        *_attention(tested, metrics, out, prefix),
    ]


def _examples(told: Mapping[str, Sequence[ToldCaption]], rows: Mapping[str, str], best: str) -> Table:
    order = np.argsort([-one.cider for one in told[best]], kind="stable")
    some = np.random.default_rng(0).permutation(len(order))
    chosen = [
        *(("best", place) for place in order[:EXAMPLES].tolist()),
        *(("worst", place) for place in order[: -EXAMPLES - 1 : -1].tolist()),
        *(("random", place) for place in some[:EXAMPLES].tolist()),
    ]
    lines = []
    for kind, place in chosen:
        one = told[best][place]
        lines.append([kind, one.picture, one.references[0], *(each[place].caption for each in told.values())])
    return Table(["", "picture", "the first of its references", *(rows[name] for name in told)], lines)


VARIETY = (
    ("words used", "vocabulary_used", "{:,.0f}"),
    ("words a caption", "mean_length", "{:.1f}"),
    ("captions told more than once, %", "repeated", "{:.1f}"),
    ("captions no training picture has, %", "novel", "{:.1f}"),
)


def _variety(metrics: Mapping[str, Mapping[str, float]], rows: Mapping[str, str]) -> list[Block]:
    known = [(heading, key, style) for heading, key, style in VARIETY if all(key in each for each in metrics.values())]
    lines = [[rows[name], *(style.format(each[key]) for _, key, style in known)] for name, each in metrics.items()]
    return [Heading("Variety"), Table(["", *(heading for heading, _, _ in known)], lines)]


def _attention(
    tested: Mapping[str, Run], metrics: Mapping[str, Mapping[str, float]], out: Path, prefix: str
) -> list[Block]:
    looking = {name: run for name, run in tested.items() if "attention_gain" in metrics[name]}
    if not looking:
        return []
    keys = ("attention_on_things", "things_area", "attention_gain")
    lines = [[run.recipe.row, *(f"{metrics[name][key]:.1f}" for key in keys)] for name, run in looking.items()]
    first = next(iter(looking.values()))
    blocks: list[Block] = [
        Heading("Where the words were looked for"),
        Paragraph(
            "Of words that name a thing whose place is known: attention on the thing, and its share of the view."
        ),
        Table(["", "attention on the thing, %", "its area, %", "times as much as by chance"], lines),
    ]
    if all(spec.startswith("scenes") for run in looking.values() for spec in run.data):
        records, pictures = first.materials(first.data, "test", root=None, progress=SILENT).split("test", captioned)
        named = {run.recipe.row: run for run in looking.values()}
        sheets = write_attention_sheets(named, records, pictures, range(SEEN), out, prefix=prefix)
        blocks += [Figure(path.name, f"One panel a word: {', '.join(named)}") for path in sheets]
    return blocks
