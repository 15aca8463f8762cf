"""Vilalta et al., *Studying the impact of the full-network embedding on multimodal pipelines*: Tables 2 to 5."""

from seetell.learn.reproduction.tables.base import (
    DATASET_NAMES,
    RETRIEVAL,
    PublishedTable,
    Row,
    recipe_rows,
    variant,
    vgg16,
)

PIPELINES = ("sh-bl", "sh", "mh-bl", "mh", "soe-bl", "soe", "moe-bl", "moe", "ph", "poe")
SIDES = ("fc7", "fne")


def _pipelines(number: int, dataset: str, *more: Row, absent: str = "") -> PublishedTable:
    rows = recipe_rows([*(f"{side}-{pipeline}" for pipeline in PIPELINES for side in SIDES), "best-retrieval"])
    return PublishedTable(
        f"vilalta-table{number}",
        f"Vilalta et al., Table {number} ({DATASET_NAMES[dataset]}): visual-semantic pipelines, FC7 against FNE",
        "vilalta",
        dataset,
        (*rows, *more),
        RETRIEVAL,
        "sum_of_recalls",
        ("fc7-sh", "fne-sh", "fc7-mh", "fne-mh", "fc7-poe", "fne-poe", "best-retrieval"),
        absent=absent,
    )


def _curriculum(name: str, label: str, margin: float, rate: float) -> Row:
    """A row of Table 5 after five epochs with the sum of hinges: the remedy of section 3.5."""
    phases = ", ".join(
        f'{{loss = {{kind = "{kind}", margin = {margin}}}, epochs = {epochs}, learning_rate = {rate}, batch = 128}}'
        for kind, epochs in (("sum", 5), ("max", 30))
    )
    part = "After five epochs with the sum of hinges"
    return variant(name, "curriculum", f"{label}, curriculum", part, f"phases=[{phases}]")


def _over_anchors(name: str, label: str) -> Row:
    """A row of Table 5 whose maximum is taken over anchors, as in the code that the paper's authors published."""
    settings = ("phases.loss.kind=triplet", "phases.loss.selection=hardest_anchor", "phases.epochs=200")
    part = "Maximum over anchors, as in the published code"
    return Row(f"{name}-anchors", name, f"{label}, over anchors", part, settings)


_TABLE5 = [  # learning rate and margin of Table 5
    (f"table5-{side}-moe-{kind}", f"{side.upper()}-MOE-{kind}", margin, rate)
    for side in SIDES
    for kind, margin, rate in (("bl", 0.2, 0.0002), ("bl-abs", 0.2, 0.0002), ("abs", 0.05, 0.0001))
]


def _starts() -> PublishedTable:
    return PublishedTable(
        "vilalta-table5",
        "Vilalta et al., Table 5: how often training starts",
        "vilalta",
        "flickr8k",
        (
            *recipe_rows([name for name, *_ in _TABLE5]),
            *(_over_anchors(name, label) for name, label, *_ in _TABLE5),
            *(_curriculum(*each) for each in _TABLE5),
        ),
        (("started", "started"), ("epoch it started in", "started_in"), ("Sum", "sum_of_recalls")),
        "started",
        ("table5-fc7-moe-bl", "table5-fne-moe-abs"),
        seeds=5,
        stop_when_started=True,
    )


TABLES = (
    _pipelines(
        2,
        "flickr8k",
        *(
            vgg16(f"{side}-{pipeline}", f"{side}-{pipeline}".upper())
            for pipeline in ("sh", "mh", "soe", "moe")
            for side in SIDES
        ),
        variant(
            "fc7-moe",
            "long",
            "FC7-MOE, 120 epochs, learning rate 0.0002",
            "Maximum of hinges with order similarity, trained three times as long",
            "phases.epochs=120",
            "phases.learning_rate=0.0002",
        ),
    ),
    _pipelines(3, "flickr30k", absent="the images of Flickr30k are not available"),
    _pipelines(4, "coco"),
    _starts(),
)
