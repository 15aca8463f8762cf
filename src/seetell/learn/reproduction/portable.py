"""Values without the paths of one machine, for records."""

import re
from collections.abc import Mapping
from typing import Any


def portable_spec(spec: str) -> str:
    """A dataset address without paths: `table:PATH?images=DIR&limit=500`."""
    kind, _, rest = spec.partition(":")
    if kind == "scenes":
        return spec
    _, question, query = rest.partition("?")
    kept = ["images=DIR" if part.startswith("images=") else part for part in query.split("&") if part]
    return f"{kind}:PATH{question}{'&'.join(kept)}"


def portable(value: Any) -> Any:
    """JSON values with floats rounded to six digits, and with file names instead of paths."""
    if isinstance(value, Mapping):
        return {key: portable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [portable(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, str):
        return _without_path(value)
    return value


def _without_path(text: str) -> str:
    """`/home/me/x.txt` becomes `x.txt`, also after `@` or `=`; words that contain a slash stay unchanged."""
    for mark in ("@", "="):
        before, found, after = text.partition(mark)
        if found and _is_path(after):
            return f"{before}{mark}{_file_name(after)}"
    return _file_name(text) if _is_path(text) else text


def _file_name(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def _is_path(text: str) -> bool:
    return " " not in text and len(text) > 1 and (text[0] in "/~" or text[1:3] == ":\\" or text.startswith("../"))
