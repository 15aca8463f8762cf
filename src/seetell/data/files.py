"""Reading annotation files: UTF-8 whatever wrote them, and an error that names the line when they are not."""

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seetell.errors import DatasetError

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DatasetError("there is no such file", where=str(path)) from None
    except OSError as error:
        raise DatasetError(f"it cannot be read ({error.strerror or error})", where=str(path)) from None


def read_text(path: Path) -> str:
    """A text file's content: UTF-8 with or without a byte order mark, or UTF-16 with one, as spreadsheets write it."""
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
    """A text file's lines, so that line n is at n − 1. Only line feeds and carriage returns end a line: the other
    characters at which `str.splitlines` cuts do occur in captions."""
    return read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_json(path: Path, keep: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """A JSON file's content.

    Args:
        path: the file.
        keep: for large files: what remains of each object as soon as it is parsed, so that the rest is let go at once.
            Numbers with a fraction are then left as text, which halves the time.
    """
    text = read_text(path)
    try:
        return json.loads(text, object_hook=keep, parse_float=str if keep else None)
    except json.JSONDecodeError as error:
        raise DatasetError(f"it is not valid JSON ({error.msg})", where=f"{path}:{error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"it is not JSON that can be read ({error})", where=str(path)) from None


def tidy(caption: str) -> str:
    """A caption on one line, without space around it or doubled within it."""
    return " ".join(caption.split())
