"""Nested metrics as one level."""

from collections.abc import Mapping
from typing import Any


def flatten_metrics(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested metrics as one level with dotted keys; anything but numbers is left out.

    Args:
        metrics: numbers, and groups of them.
        prefix: put in front of every key.

    Example:
        >>> flatten_metrics({"image_to_text": {"r1": 12.5}, "protocol": "all"})
        {'image_to_text.r1': 12.5}
    """
    flat: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            flat |= flatten_metrics(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[prefix + name] = float(value)
    return flat
