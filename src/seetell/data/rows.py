"""The rows of a table: CSV, TSV or JSON lines, with columns under any of their common names.

Upper case, spaces and hyphens in the names of columns do not matter:

=========  ==========================================================================================================
file       `file`, or one of the common names for it: filename, file_name, filepath, file_path, image, image_name,
           image_path, image_file, img, picture, photo, path
split      `split`, set, subset, partition
caption    `caption`, caption_text, text, description, sentence, comment, alt, alt_text: one caption; any number of
           numbered columns (caption_0, caption1)
captions   `captions`, sentences, raw: several captions, separated by `|`, or a JSON list
labels     `labels`, label, tags, tag, keywords, classes, class, categories, category: separated by `;`, or a JSON list
=========  ==========================================================================================================

If a table has two of these names (`image` and `file_name`), the one further left in this list is used.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from seetell.data.dataset import Skipped
from seetell.data.files import clean_caption, read_lines
from seetell.data.splits import normalise
from seetell.errors import DatasetError

_NAMES = {
    "file": (
        *("file", "filename", "file_name", "filepath", "file_path", "image", "image_name", "image_path", "image_file"),
        *("img", "picture", "photo", "path"),
    ),
    "split": ("split", "set", "subset", "partition"),
    "caption": ("caption", "caption_text", "text", "description", "sentence", "comment", "alt", "alt_text"),
    "captions": ("captions", "sentences", "raw"),
    "labels": ("labels", "label", "tags", "tag", "keywords", "classes", "class", "categories", "category"),
}
_NUMBERED = re.compile(r"(?:caption|sentence|comment|text)_?\d+")
_NOT_TEXT = (".xlsx", ".xls", ".ods", ".parquet", ".arrow", ".db", ".sqlite", ".zip", ".gz")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: a file, its captions and labels; `split` is None if the table has no splits."""

    line: int
    file: str
    split: str | None
    captions: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what: indices in the header of a CSV file, keys of a JSON object."""

    file: Any
    split: Any = None
    captions: tuple[Any, ...] = ()  # one caption each
    several: Any = None  # many captions
    labels: Any = None
    unused: tuple[str, ...] = ()


class BadLine(Exception):
    """Why a line is skipped."""


def read_rows(path: Path) -> tuple[list[TableRow], list[Skipped], tuple[str, ...]]:
    """Read a table.

    Args:
        path: a CSV, TSV or JSON-lines file.

    Returns:
        The rows, the lines that were skipped, and the names of columns that are not used.
    """
    if path.suffix.lower() in _NOT_TEXT:
        raise DatasetError(
            f"a {path.suffix} file is not a text table",
            where=str(path),
            remedy="Save it as CSV (UTF-8), TSV or JSON lines",
        )
    lines = read_lines(path)
    first = next((line.lstrip() for line in lines if line.strip()), "")
    if not first:
        raise DatasetError("the table is empty", where=str(path), remedy=_REMEDY)
    is_json = path.suffix.lower() in (".jsonl", ".ndjson", ".json") or first.startswith("{")
    if is_json and first.startswith("["):
        raise DatasetError("this is one JSON list", where=str(path), remedy="Write a JSON object per line (JSON lines)")
    return _json_rows(path, lines) if is_json else _delimited_rows(path, lines)


_REMEDY = "The first line must name the columns: file, and any of split, caption, captions, labels"


def find_columns(names: Sequence[str], keys: Sequence[Any]) -> Columns | None:
    """Recognise columns.

    Args:
        names: of the columns.
        keys: what fetches each column from a row.

    Returns:
        None if no column names the file.
    """
    normalised = [re.sub(r"[\s-]+", "_", name.strip().lower()) for name in names]
    found: dict[str, int] = {}
    for role, spellings in _NAMES.items():
        position = next((normalised.index(spelling) for spelling in spellings if spelling in normalised), None)
        if position is not None:
            found[role] = position
    numbered = [position for position, name in enumerate(normalised) if _NUMBERED.fullmatch(name)]
    if "file" not in found:
        return None
    used = {*found.values(), *numbered}
    single = ([found["caption"]] if "caption" in found else []) + numbered
    return Columns(
        file=keys[found["file"]],
        split=keys[found["split"]] if "split" in found else None,
        captions=tuple(keys[position] for position in single),
        several=keys[found["captions"]] if "captions" in found else None,
        labels=keys[found["labels"]] if "labels" in found else None,
        unused=tuple(name.strip() for position, name in enumerate(names) if position not in used and name.strip()),
    )


def _json_rows(path: Path, lines: list[str]) -> tuple[list[TableRow], list[Skipped], tuple[str, ...]]:
    rows: list[TableRow] = []
    skipped: list[Skipped] = []
    unused: dict[str, None] = {}
    known: dict[tuple[str, ...], Columns | None] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:  # ValueError also for a number of 5,000 digits
                raise BadLine(f"not valid JSON ({getattr(error, 'msg', error)})") from None
            if not isinstance(entry, dict):
                raise BadLine("not a JSON object")
            if "\\u" in line:
                _refuse_half_characters(entry)
            keys = tuple(entry)
            if keys not in known:
                known[keys] = find_columns(keys, keys)
            columns = known[keys]
            if columns is None:
                raise BadLine("there is no file name")
            unused.update(dict.fromkeys(columns.unused))
            rows.append(_row(number, columns, entry.get))
        except BadLine as reason:
            skipped.append(Skipped(f"{path}:{number}", str(reason)))
    if not rows and known and all(columns is None for columns in known.values()):
        raise _no_file_column(path, next(iter(known)))
    return rows, skipped, tuple(unused)


def _refuse_half_characters(entry: Any) -> None:
    """JSON can escape one half of a surrogate pair, which no file can then hold and no terminal show."""
    try:
        json.dumps(entry, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise BadLine("it has half a character (an unpaired surrogate)") from None


def _delimited_rows(path: Path, lines: list[str]) -> tuple[list[TableRow], list[Skipped], tuple[str, ...]]:
    rows: list[TableRow] = []
    skipped: list[Skipped] = []
    start = next(number for number, line in enumerate(lines) if line.strip())
    delimiter = "\t" if path.suffix.lower() in (".tsv", ".tab") else _delimiter(lines[start])
    all_fields = _fields(lines, start, delimiter)
    _, header = next(all_fields)
    columns = find_columns(header, range(len(header)))
    if columns is None:
        raise _no_file_column(path, header)
    last_is_caption = len(header) - 1 in columns.captions
    for number, fields in all_fields:
        try:
            if len(fields) > len(header):
                if not last_is_caption:
                    raise BadLine(
                        f"{len(fields)} fields where the header has {len(header)}: "
                        "put quotation marks around a field that contains the separator"
                    )
                # A caption with unquoted commas.
                fields[len(header) - 1 :] = [delimiter.join(fields[len(header) - 1 :])]
            fields += [""] * (len(header) - len(fields))
            rows.append(_row(number, columns, fields.__getitem__))
        except BadLine as reason:
            skipped.append(Skipped(f"{path}:{number}", str(reason)))
    return rows, skipped, columns.unused


def _delimiter(header: str) -> str:
    """The separator with which the header names a file column and, of those, the most columns."""

    def rank(separator: str) -> tuple[bool, int]:
        names = [name.strip().strip('"') for name in header.split(separator)]
        return find_columns(names, names) is not None, len(names)

    return max(",\t;|", key=rank)


def _fields(lines: list[str], start: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line of each row (counted from 1), and its fields.

    A quoted field may contain separators and line ends. Captions also contain quotation marks that do not quote a
    field: if they are unbalanced, the line is split as it is. A stray quotation mark therefore costs at most one line,
    never the rest of the file.
    """
    position = start
    while position < len(lines):
        line, number = lines[position], position + 1
        position += 1
        if not line.strip():
            continue
        if '"' in line:
            reader = csv.reader(
                (f"{each}\n" for each in islice(lines, number - 1, None)), delimiter=delimiter, strict=True
            )
            try:
                fields = next(reader)
            except csv.Error:
                fields = line.split(delimiter)
            else:
                position += reader.line_num - 1
            yield number, fields
        else:
            yield number, line.split(delimiter)


def _row(number: int, columns: Columns, get: Callable[[Any], Any]) -> TableRow:
    file = get(columns.file)
    if not isinstance(file, str) or not file.strip():
        raise BadLine("there is no file name")
    captions = [] if columns.several is None else _several(get(columns.several), "|", "caption")
    for key in columns.captions:
        captions += _several(get(key), None, "caption")
    labels = () if columns.labels is None else tuple(dict.fromkeys(_several(get(columns.labels), ";", "label")))
    split = None
    if columns.split is not None:
        value = get(columns.split)
        if value is not None and not isinstance(value, str):
            raise BadLine(f"its split is not a name: {value!r}")
        split = normalise(value or "")
    return TableRow(number, file.strip(), split, tuple(captions), labels)


def _several(value: Any, separator: str | None, what: str) -> list[str]:
    """The captions or labels of a cell; without any, it is empty, None or an empty list."""
    if value is None:
        return []
    if isinstance(value, str):
        text = value.strip()
        if separator and text.startswith("[") and text.endswith("]"):
            try:
                several = json.loads(text)
            except (ValueError, RecursionError):
                pass  # a caption in square brackets
            else:
                _refuse_half_characters(several)
                return _several(several, separator, what)
        return [each for part in (text.split(separator) if separator else [text]) if (each := clean_caption(part))]
    if isinstance(value, int) and what == "label":
        return [str(value)]
    if isinstance(value, list):
        if any(isinstance(part, list) for part in value):
            raise BadLine(f"a {what} that is a list")
        return [each for part in value for each in _several(part, None, what)]
    raise BadLine(f"a {what} that is not text: {value!r}")


def _no_file_column(path: Path, names: Sequence[str]) -> DatasetError:
    near = [name.strip() for name in names if get_close_matches(name.strip().lower(), _NAMES["file"], n=1)]
    return DatasetError(
        f"no column names the image file (found: {', '.join(name.strip()[:40] for name in names)})",
        where=str(path),
        remedy=f"If it is {near[0]!r}, rename it to 'file'" if near else _REMEDY,
    )
