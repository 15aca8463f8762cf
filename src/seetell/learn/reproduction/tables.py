"""The papers' tables: which rows they have, what each is trained by, and which figures are their columns.

What a table's page says about the figures is in `claims.py`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seetell.errors import SeetellError

PIPELINES = ("sh-bl", "sh", "mh-bl", "mh", "soe-bl", "soe", "moe-bl", "moe", "ph", "poe")
LABEL_SEQUENCES = ("init-attn", "joint", "joint-attn", "seq2seq-attn", "init", "seq2seq")
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
    ("F1 by image", "f1"),
    ("C-F1", "c_f1"),
    ("O-F1", "o_f1"),
    ("mAP", "map"),
)
NAMES = {"flickr8k": "Flickr8k", "flickr30k": "Flickr30k", "coco": "COCO"}
# What rows may need that pip does not install; given with `--with NAME=FILE`.
FILES = {
    "vgg16": "weights of VGG16, its convolutions at least",
    "vectors300": "word vectors of 300 dimensions",
}


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Args:
        name: of its record and of its run's folder.
        recipe: by which it is trained; its name unless told.
        label: what the page calls it; as the recipe says unless told.
        part: the heading under which it stands; "" for the table itself.
        settings: what is set beside the recipe, as with `--set`; `{vgg16}` stands for a file of `--with`.
        published: figures by dataset, for rows that the recipe does not know of; None: the recipe's.
        starts_from: the row whose trained model it starts from.
        tests: the row whose trained model is tested again, with another `decoding`, or `model` settings that leave its
            weights as they are; nothing is trained.
        untrained: which captioner that learns nothing (`seetell.learn.reproduction.untrained`) tells the test split.
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
        """Names of files that `--with` must give."""
        return tuple(re.findall(r"\{(\w+)\}", " ".join(self.settings)))

    def settings_with(self, files: Mapping[str, str]) -> list[str]:
        """Its settings, with the files that `--with` gave in their places."""
        return [setting.format(**files) for setting in self.settings] if self.needs else list(self.settings)


@dataclass(frozen=True)
class PublishedTable:
    """A table of a paper.

    Args:
        published_on: the dataset its figures are of.
        rows: in the paper's order, then ours.
        columns: heading and flat metric name.
        main: the metric that rows are compared by.
        headline: the rows that stand for the table where all tables are gathered.
        seeds: how often each row is trained.
        stop_when_started: a run ends as soon as it has learned anything.
        figures: what the page shows beside the table: `captions` or `tags`.
        absent: why none of it can be run, where that is so.
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


def _rows(names: Sequence[str], part: str = "") -> tuple[Row, ...]:
    """Rows that are recipes as they are."""
    return tuple(Row(name, name, part=part) for name in names)


def _like(base: str, name: str, label: str, part: str, *settings: str) -> Row:
    """A row of ours that differs from a recipe in some settings; nothing was published for it."""
    return Row(f"{base}-{name}", base, label, part, settings, published={})


def _vgg16(recipe: str, label: str) -> Row:
    """A row with the paper's own network."""
    return Row(f"{recipe}-vgg16", recipe, f"{label}, VGG16", "With VGG16", ("encoder.name=vgg16@{vgg16}",))


def _vilalta(number: int, dataset: str, *more: Row, absent: str = "") -> PublishedTable:
    rows = _rows([f"{side}-{pipeline}" for pipeline in PIPELINES for side in ("fc7", "fne")] + ["best-retrieval"])
    return PublishedTable(
        f"vilalta-table{number}",
        f"Vilalta et al., Table {number} ({NAMES[dataset]}): visual-semantic pipelines, FC7 against FNE",
        "vilalta",
        dataset,
        (*rows, *more),
        RETRIEVAL,
        "sum_of_recalls",
        ("fc7-sh", "fne-sh", "fc7-mh", "fne-mh", "fc7-poe", "fne-poe", "best-retrieval"),
        absent=absent,
    )


def _curriculum(name: str, label: str, margin: float, rate: float) -> Row:
    """A row of Table 5 after five epochs with the sum of hinges, which section 3.5 has as a cure."""
    phases = ", ".join(
        f'{{loss = {{kind = "{kind}", margin = {margin}}}, epochs = {epochs}, learning_rate = {rate}, batch = 128}}'
        for kind, epochs in (("sum", 5), ("max", 30))
    )
    part = "After five epochs with the sum of hinges"
    return _like(name, "curriculum", f"{label}, curriculum", part, f"phases=[{phases}]")


def _over_anchors(name: str, label: str) -> Row:
    """A row of Table 5 whose maximum is taken over anchors, as in the program that the paper's authors published."""
    settings = ("phases.loss.kind=triplet", "phases.loss.selection=hardest_anchor", "phases.epochs=200")
    part = "With the published program's maximum, over anchors"
    return Row(f"{name}-anchors", name, f"{label}, over anchors", part, settings)


_TABLE5 = [  # learning rate and margin of Table 5
    (f"table5-{side}-moe-{kind}", f"{side.upper()}-MOE-{kind}", margin, rate)
    for side in ("fc7", "fne")
    for kind, margin, rate in (("bl", 0.2, 0.0002), ("bl-abs", 0.2, 0.0002), ("abs", 0.05, 0.0001))
]


def _kolluru(number: int, dataset: str) -> PublishedTable:
    k1, k10, part = "two-branch-k1", "two-branch-k10", "Is it the tuning? K = 10 with other settings"
    return PublishedTable(
        f"kolluru-table{number}",
        f"Kolluru, Table {number} ({NAMES[dataset]}): the two-branch network and its negatives",
        "kolluru",
        dataset,
        (
            Row(k1, k1, "K = 1"),  # the paper names its network, VGG19, too
            Row(k10, k10, "K = 10"),
            *_rows(["two-branch-semi-hard", "two-branch-all"]),
            _like(k10, "slow", "K = 10, a quarter of the learning rate", part, "phases.learning_rate=0.00005"),
            _like(k10, "lambda1", "K = 10, λ = 1", part, "phases.loss.lambda=1.0"),
            _like(k10, "margin02", "K = 10, margin 0.2", part, "phases.loss.margin=0.2"),
            _like(k1, "lambda1", "K = 1, λ = 1", part, "phases.loss.lambda=1.0"),
        ),
        RETRIEVAL,
        "sum_of_recalls",
        (k1, k10),
    )


def _xu() -> PublishedTable:
    soft, part = "attend-soft", "Soft attention without its parts"
    lengths = "What a batch holds, at 80 captions each"
    again = "The same weights, told in another way"
    return PublishedTable(
        "xu-table1",
        "Xu et al., Table 1: soft and hard attention",
        "xu",
        "flickr8k",
        (
            *_rows([soft, "attend-hard", "best-caption"]),
            _vgg16(soft, "Soft-Attention"),
            _vgg16("attend-hard", "Hard-Attention"),
            _like(soft, "no-gate", "no gate β", part, "model.gate=false"),
            _like(soft, "no-ds", "no doubly stochastic penalty", part, "phases.loss.doubly_stochastic=0.0"),
            _like(soft, "buckets", "captions of one length", lengths, "training.captions=all", "phases.batch=80"),
            _like(soft, "mixed", "captions of all lengths", lengths, "training.captions=mixed", "phases.batch=80"),
            Row(
                f"{soft}-greedy",
                label="Soft-Attention, greedy",
                part=again,
                published={},
                tests=soft,
                decoding={"beam": 1},
            ),
            Row(
                "attend-hard-expected",
                label="Hard-Attention, the expected context instead of the likeliest place",
                part=again,
                published={},
                tests="attend-hard",
                model={"attention": "soft"},
            ),
        ),
        (*WITHOUT_PENALTY, *CAPTIONS),
        "bleu4_no_bp",
        (soft, "attend-hard", "best-caption"),
        figures="captions",
    )


def _vaishali() -> PublishedTable:
    return PublishedTable(
        "vaishali",
        "Vaishali et al.: the merge captioner and its relatives",
        "vaishali",
        "flickr8k",
        (
            *_rows(["merge"]),
            Row("merge-300", "merge", "merge, vectors of 300", settings=("text.vectors={vectors300}",), published={}),
            *_rows(["initial", "convolutional"]),
            Row("merge-self-critical", "merge-self-critical", starts_from="merge"),
            *_rows(["attend-soft"]),
            Row("attend-soft-self-critical", "attend-soft-self-critical", starts_from="attend-soft"),
            Row("retrieval-based", label="Retrieval-based", untrained="consensus", published={}),
            Row("template-based", label="Template-based", untrained="template", published={}),
            _like(
                "merge",
                "8-epochs",
                "merge, 8 epochs",
                "As many epochs as its relatives have, not as much time",
                'phases=[{loss = {kind = "cross_entropy"}, epochs = 8, learning_rate = 0.002, batch = 16, '
                'schedule = "cosine", warmup = 0.02}]',
                "training.average=0.995",
            ),
        ),
        (*WITHOUT_PENALTY, *CAPTIONS),
        "cider",
        ("merge", "initial", "attend-soft"),
        figures="captions",
    )


def _ren() -> PublishedTable:
    sweep = "The sweep: label embeddings, one LSTM or two, learning rates"
    beams = "Beam search instead of greedy"
    glove, separate = "text.vectors=default", "model.part=seq2seq-separate"
    wang = {"coco": {"precision": 69.2, "recall": 66.4, "f1_of_means": 67.8}}
    return PublishedTable(
        "ren-table3",
        "Ren, Table 3: label sequences against the CNN alone",
        "ren",
        "coco",
        (
            *_rows(["warp", "softmax", "bce", "init-attn", "joint", "joint-attn"]),
            Row("wang", label="Wang et al.", published=wang),
            *_rows(["seq2seq-attn", "init", "seq2seq", "best-tags"]),
            *(
                Row(
                    f"{name}-beam5",
                    label=f"{name}, 5 beams",
                    part=beams,
                    published={},
                    tests=name,
                    decoding={"beam": 5},
                )
                for name in LABEL_SEQUENCES
            ),
            _like("seq2seq", "xavier", "seq2seq, Xavier, one LSTM", sweep, 'text.vectors=""'),
            _like("seq2seq", "separate", "seq2seq, GloVe, two LSTMs", sweep, separate),
            _like("seq2seq", "xavier-separate", "seq2seq, Xavier, two LSTMs", sweep, 'text.vectors=""', separate),
            _like("init", "glove", "init, GloVe", sweep, glove),
            _like("joint", "glove", "joint, GloVe", sweep, glove),
            *(
                _like(
                    name,
                    f"rate{rate}".replace(".", ""),
                    f"{name}, learning rate {rate}",
                    sweep,
                    f"phases.learning_rate={rate}",
                )
                for name in ("joint", "init", "seq2seq")
                for rate in ("0.001", "0.0001")
            ),
        ),
        TAGS,
        "f1_of_means",
        ("bce", "init", "seq2seq", "best-tags"),
        figures="tags",
    )


TABLES = {
    table.name: table
    for table in (
        _vilalta(
            2,
            "flickr8k",
            *(
                _vgg16(f"{side}-{pipeline}", f"{side}-{pipeline}".upper())
                for pipeline in ("sh", "mh", "soe", "moe")
                for side in ("fc7", "fne")
            ),
            _like(
                "fc7-moe",
                "long",
                "FC7-MOE, 120 epochs, learning rate 0.0002",
                "The maximum with order similarity, three times as long",
                "phases.epochs=120",
                "phases.learning_rate=0.0002",
            ),
        ),
        _vilalta(3, "flickr30k", absent="Flickr30k's images are not at hand"),
        _vilalta(4, "coco"),
        PublishedTable(
            "vilalta-table5",
            "Vilalta et al., Table 5: how often training starts",
            "vilalta",
            "flickr8k",
            (
                *_rows([name for name, *_ in _TABLE5]),
                *(_over_anchors(name, label) for name, label, *_ in _TABLE5),
                *(_curriculum(*each) for each in _TABLE5),
            ),
            (("started", "started"), ("epoch it started in", "started_in"), ("Sum", "sum_of_recalls")),
            "started",
            ("table5-fc7-moe-bl", "table5-fne-moe-abs"),
            seeds=5,
            stop_when_started=True,
        ),
        _kolluru(1, "flickr30k"),
        _kolluru(2, "coco"),
        _xu(),
        _vaishali(),
        _ren(),
    )
}


def table(name: str) -> PublishedTable:
    if name not in TABLES:
        raise SeetellError(f"there is no table {name!r}", remedy=f"There are: {', '.join(TABLES)}")
    return TABLES[name]


def label(row: Row) -> str:
    """What a page calls a row."""
    from seetell.learn.recipes import load_recipe

    return row.label or load_recipe(row.recipe).row or row.name


def published(row: Row, dataset: str) -> dict[str, float]:
    """What was published for a row on a dataset, flat: with the sum of recalls where all six are there, and of `5/5`
    runs that started the share."""
    from seetell.learn.recipes import load_recipe
    from seetell.learn.training.curves import flat

    if row.published is not None:
        known: Mapping[str, Any] = row.published
    else:
        known = load_recipe(row.recipe).published if row.recipe else {}
    figures = flat(known.get(dataset, {}))
    recalls = [figures.get(f"{side}.r{k}") for side in ("image_to_text", "text_to_image") for k in (1, 5, 10)]
    if all(value is not None for value in recalls):
        figures["sum_of_recalls"] = sum(value for value in recalls if value is not None)
    if success := known.get(dataset, {}).get("success"):
        started, _, runs = success.partition("/")
        figures |= {"started": int(started) / int(runs)}
    return figures
