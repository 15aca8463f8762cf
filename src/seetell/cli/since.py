"""The times that `--since` understands."""

import re
import time

from seetell.errors import SeetellError

_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800}
_FORMATS = ("%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S")


def parse_since(text: str | None) -> float | None:
    """Seconds since 1970 of a date (`2024`, `2024-05-17`, `2024-05-17T12:30`) or an age (`36h`, `7d`, `2w`)."""
    if text is None:
        return None
    if age := re.fullmatch(r"(\d{1,6})([hdw])", text):
        return time.time() - int(age[1]) * _SECONDS[age[2]]
    for form in _FORMATS:
        try:
            return time.mktime(time.strptime(text, form))
        except (ValueError, OverflowError):
            continue
    raise SeetellError(f"{text!r} is not a time", where="--since", remedy="Write 2024-05-17, 2024-05, or 7d for a week")
