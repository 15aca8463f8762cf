"""The papers' tables: their rows, the recipe each is trained by, and the metrics of their columns.

One file per paper. What a page concludes from the figures is in `claims.py`.
"""

from collections.abc import Mapping
from typing import Any

from seetell.errors import SeetellError, did_you_mean
from seetell.learn.reproduction.tables import kolluru, ren, vaishali, vilalta, xu
from seetell.learn.reproduction.tables.base import FILES, PublishedTable, Row

__all__ = ["FILES", "TABLES", "PublishedTable", "Row", "label", "published", "table"]

TABLES = {each.name: each for each in (*vilalta.TABLES, *kolluru.TABLES, *xu.TABLES, *vaishali.TABLES, *ren.TABLES)}


def table(name: str) -> PublishedTable:
    """A table by its name: `vilalta-table2`."""
    if name not in TABLES:
        raise SeetellError(f"there is no table {name!r}", remedy=did_you_mean(name, TABLES))
    return TABLES[name]


def label(row: Row) -> str:
    """The name of a row on pages."""
    from seetell.learn.recipes import load_recipe

    return row.label or load_recipe(row.recipe).row or row.name


def published(row: Row, dataset: str) -> dict[str, float]:
    """The published figures of a row on a dataset, by flat metric name.

    The sum of recalls is added where all six are known; `5/5` runs that started become a share.
    """
    from seetell.learn.recipes import load_recipe
    from seetell.metrics.flatten import flatten_metrics

    if row.published is not None:
        known: Mapping[str, Any] = row.published
    else:
        known = load_recipe(row.recipe).published if row.recipe else {}
    figures = flatten_metrics(known.get(dataset, {}))
    recalls = [figures.get(f"{side}.r{k}") for side in ("image_to_text", "text_to_image") for k in (1, 5, 10)]
    if all(value is not None for value in recalls):
        figures["sum_of_recalls"] = sum(value for value in recalls if value is not None)
    if success := known.get(dataset, {}).get("success"):
        started, _, runs = success.partition("/")
        figures |= {"started": int(started) / int(runs)}
    return figures
