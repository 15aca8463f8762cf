"""Kolluru, *A neural architecture to learn image-text joint embedding*: Tables 1 and 2."""

from seetell.learn.reproduction.tables.base import (
    DATASET_NAMES,
    RETRIEVAL,
    PublishedTable,
    Row,
    recipe_rows,
    variant,
)


def _two_branch(number: int, dataset: str) -> PublishedTable:
    k1, k10, part = "two-branch-k1", "two-branch-k10", "Is it the tuning? K = 10 with other settings"
    return PublishedTable(
        f"kolluru-table{number}",
        f"Kolluru, Table {number} ({DATASET_NAMES[dataset]}): the two-branch network and its negatives",
        "kolluru",
        dataset,
        (
            Row(k1, k1, "K = 1"),  # the paper names its network, VGG19, too
            Row(k10, k10, "K = 10"),
            *recipe_rows(["two-branch-semi-hard", "two-branch-all"]),
            variant(k10, "slow", "K = 10, a quarter of the learning rate", part, "phases.learning_rate=0.00005"),
            variant(k10, "lambda1", "K = 10, λ = 1", part, "phases.loss.lambda=1.0"),
            variant(k10, "margin02", "K = 10, margin 0.2", part, "phases.loss.margin=0.2"),
            variant(k1, "lambda1", "K = 1, λ = 1", part, "phases.loss.lambda=1.0"),
        ),
        RETRIEVAL,
        "sum_of_recalls",
        (k1, k10),
    )


TABLES = (_two_branch(1, "flickr30k"), _two_branch(2, "coco"))
