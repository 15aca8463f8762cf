"""Nested metrics as one table."""

from collections.abc import Mapping
from typing import Any


def flatten_metrics(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested metrics on one level, with dotted names; whatever is not a number is left out.

    Args:
        metrics: numbers by name, nested to any depth.
        prefix: put before every name.

    Example:
        >>> flatten_metrics({"image_to_text": {"r1": 31.5, "r5": 60}, "protocol": "5 folds"})
        {'image_to_text.r1': 31.5, 'image_to_text.r5': 60.0}
    """
    flat: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            flat |= flatten_metrics(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[f"{prefix}{name}"] = float(value)
    return flat
