"""What a published table is made of: rows, columns, and the files that some rows need."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
CAPTIONS = (
    *((f"BLEU-{n} without penalty", f"bleu{n}_no_bp") for n in (1, 2, 3, 4)),
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
    ("F1 by image", "f1"),
    ("C-F1", "c_f1"),
    ("O-F1", "o_f1"),
    ("mAP", "map"),
)
DATASET_NAMES = {"flickr8k": "Flickr8k", "flickr30k": "Flickr30k", "coco": "COCO"}
# Files that some rows need and pip does not install; given with `--with NAME=FILE`.
FILES = {
    "vgg16": "weights of VGG16, its convolutions at least",
    "vectors300": "word vectors of 300 dimensions",
}


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Args:
        name: names the row's record and the folder of its run.
        recipe: the recipe it is trained by; "" if nothing is trained.
        label: its name on the page; by default the recipe's.
        part: the heading it is listed under; "" for the table itself.
        settings: overrides of the recipe, as with `--set`; `{vgg16}` stands for a file given with `--with`.
        published: figures by dataset, for rows whose recipe has none; None: the recipe's.
        starts_from: the row whose trained model it starts from.
        tests: the row whose trained model is evaluated once more, with other `decoding` settings, or `model` settings
            that leave the weights unchanged; nothing is trained.
        untrained: the baseline (`seetell.learn.reproduction.baselines`) that captions the test split.
    """

    name: str
    recipe: str = ""
    label: str = ""
    part: str = ""
    settings: tuple[str, ...] = ()
    published: Mapping[str, Mapping[str, Any]] | None = None
    starts_from: str = ""
    tests: str = ""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    untrained: str = ""

    @property
    def runs(self) -> bool:
        """Whether there is anything to run: some rows are in the paper only."""
        return bool(self.recipe or self.tests or self.untrained)

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the files that `--with` must give."""
        return tuple(re.findall(r"\{(\w+)\}", " ".join(self.settings)))

    def settings_with(self, files: Mapping[str, str]) -> list[str]:
        """Its settings, with the paths given by `--with` filled in."""
        return [setting.format(**files) for setting in self.settings] if self.needs else list(self.settings)


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    Args:
        published_on: the dataset of its published figures.
        rows: the paper's rows in its order, then ours.
        columns: heading and flat metric name.
        main: the metric that rows are compared by.
        headline: the rows that represent the table in overviews.
        seeds: how many times each row is trained.
        stop_when_started: a run ends as soon as it has learned anything.
        figures: which examples and plots the page adds: `captions` or `tags`.
        absent: why nothing of it can be run, if so.
    """

    name: str
    title: str
    paper: str
    published_on: str
    rows: tuple[Row, ...]
    columns: tuple[tuple[str, str], ...]
    main: str
    headline: tuple[str, ...]
    seeds: int = 1
    stop_when_started: bool = False
    figures: str = ""
    absent: str = ""

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)


def recipe_rows(names: Sequence[str], part: str = "") -> tuple[Row, ...]:
    """Rows that are recipes without changes."""
    return tuple(Row(name, name, part=part) for name in names)


def variant(base: str, name: str, label: str, part: str, *settings: str) -> Row:
    """A row of ours that differs from a recipe in some settings; nothing was published for it."""
    return Row(f"{base}-{name}", base, label, part, settings, published={})


def vgg16(recipe: str, label: str) -> Row:
    """A row with the paper's own network."""
    return Row(f"{recipe}-vgg16", recipe, f"{label}, VGG16", "With VGG16", ("encoder.name=vgg16@{vgg16}",))
