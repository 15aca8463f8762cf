"""Reading annotation files: UTF-8, UTF-16 or JSON, with errors that name the line."""

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seetell.errors import DatasetError

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_bytes(path: Path) -> bytes:
    """The content of a file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DatasetError("there is no such file", where=str(path)) from None
    except OSError as error:
        raise DatasetError(f"it cannot be read ({error.strerror or error})", where=str(path)) from None


def read_text(path: Path) -> str:
    """The content of a text file: UTF-8 with or without a byte order mark, or UTF-16 with one (spreadsheets)."""
    data = read_bytes(path)
    try:
        return data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DatasetError(
            f"this line is not UTF-8 (byte 0x{data[error.start]:02X})",
            where=f"{path}:{line}",
            remedy="Save the file as UTF-8; a spreadsheet calls it 'CSV UTF-8'",
        ) from None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; line n has index n − 1.

    Only line feeds and carriage returns end a line: captions contain other characters at which `str.splitlines` cuts.
    """
    return read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_json(path: Path, keep: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """The content of a JSON file.

    Args:
        path: the file.
        keep: replaces each object as soon as it is parsed, which saves memory in large files. Numbers with a fraction
            are then left as text, which halves the time.
    """
    text = read_text(path)
    try:
        return json.loads(text, object_hook=keep, parse_float=str if keep else None)
    except json.JSONDecodeError as error:
        raise DatasetError(f"it is not valid JSON ({error.msg})", where=f"{path}:{error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"this JSON cannot be read ({error})", where=str(path)) from None


def clean_caption(caption: str) -> str:
    """A caption on one line, with single spaces.

    Example:
        >>> clean_caption(" A dog\\n runs. ")
        'A dog runs.'
    """
    return " ".join(caption.split())
