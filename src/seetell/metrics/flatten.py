"""Nested metrics as one table with dotted names."""

from collections.abc import Mapping
from typing import Any


def flatten_metrics(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers among nested metrics, under dotted names; everything else is left out.

    Example:
        >>> flatten_metrics({"image_to_text": {"r1": 26.5}, "protocol": "5 folds"})
        {'image_to_text.r1': 26.5}
    """
    flat: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            flat |= flatten_metrics(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[f"{prefix}{name}"] = value
    return flat
