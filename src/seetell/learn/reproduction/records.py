"""Row records: what a page says of a finished row, in one small file that stands for itself.

The machine that trained a row need not be kept, nor its run, features or data: all pages of docs/results are drawn from
records. One is `TABLE/ROW.DATASET[.seedN].json`: the scores on the test split, every epoch on the validation split,
what was trained on what and how long, which version of seetell did it, and the command that does it again. It names no
place of the machine it was made on.
"""

import json
import math
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import seetell
from seetell.errors import SeetellError
from seetell.learn.files import write_text
from seetell.learn.training.curves import flat

FORMAT = 1
EPOCH = ("phase", "epoch", "loss", "samples", "seconds", "score", "metrics")


class RecordError(SeetellError):
    """A row's record that cannot be read."""


@dataclass(frozen=True)
class Asked:
    """What of the command line made a row, beside its name.

    Args:
        data: the datasets, without their places: `flickr8k:PATH`.
        settings: as given with `--set`.
        files: what was given with `--with`, by name: `vgg16`.
    """

    data: tuple[str, ...]
    budget: str = "two-cores"
    settings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowRecord:
    """A finished row of a table.

    Args:
        dataset: what it was trained and tested on: `flickr8k`.
        data: a fingerprint of the dataset's names, splits, captions and labels, and how many images each split has.
        encoder: name, fingerprint of its weights, layout, crops, view and size.
        settings: the recipe as it was trained.
        made_by: version of seetell, commit where it was a checkout, processor threads.
        history: what every epoch was on the validation split.
        seconds: of training; of rows that are not trained, of telling.
        figures: what a page shows beside the table: `captions` or `tags`.
    """

    table: str
    row: str
    dataset: str
    seed: int
    recipe: str
    task: str
    asked: Asked
    data: Mapping[str, Any]
    encoder: Mapping[str, Any]
    settings: Mapping[str, Any]
    made_by: Mapping[str, Any]
    parameters: int
    images: int
    protocol: str
    metrics: Mapping[str, Any]
    seconds: float
    history: Sequence[Mapping[str, Any]] = ()
    seconds_telling: float = 0.0
    notes: Sequence[str] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        return stem(self.row, self.dataset, self.seed)

    @property
    def flat(self) -> dict[str, float]:
        """All figures of the row by name, those of its cost with them."""
        figures = {**flat(self.metrics), "seconds": self.seconds, "epochs": float(len(self.history))}
        trained = sum(epoch["seconds"] for epoch in self.history)
        if trained:
            figures["samples_a_second"] = sum(epoch["samples"] for epoch in self.history) / trained
        if self.seconds_telling:
            figures["told_a_second"] = self.images / self.seconds_telling
        return {**figures, "parameters": float(self.parameters)}

    def command(self, rows: Sequence[str] = (), seeds: int = 0) -> str:
        """What gives this row, or several that were asked for in the same way."""
        data = " ".join(f"--data {_quoted(spec)}" for spec in self.asked.data)
        parts = [f"seetell learn reproduce {self.table} {data}"]
        if self.asked.data[0].partition(":")[0] != self.dataset:
            parts.append(f"--dataset {self.dataset}")
        parts.append(f"--out DIR --rows {','.join(rows or [self.row])}")
        parts += [f"--with {name}=FILE" for name in self.asked.files]
        parts += [f"--seeds {seeds}"] if seeds else []
        parts += [f"--budget {self.asked.budget}"] if self.asked.budget != "two-cores" else []
        parts += [f"--set {_quoted(setting)}" for setting in self.asked.settings]
        return " ".join(parts)

    def write(self, folder: Path) -> Path:
        """Write it under its own name; returns the file."""
        path = folder / f"{self.stem}.json"
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, self.text())
        return path

    def text(self) -> str:
        """The file: a line a field, and a line an epoch, so that it can be read and compared."""
        content = portable(asdict(self))
        history = content.pop("history")
        lines = [f'"format": {FORMAT}', f'"command": {_json(self.command())}']
        lines += [f"{_json(key)}: {_json(value)}" for key, value in content.items()]
        epochs = ",\n  ".join(_json(epoch) for epoch in history)
        lines.append(f'"history": [\n  {epochs}\n]' if history else '"history": []')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def read(cls, path: Path) -> "RowRecord":
        """Read a record; a damaged one is an error that names it."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _damaged(path, f"this is not a row's record ({error})") from None
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise _damaged(path, "this is not a row's record of this version")
        content.pop("command", None)  # follows from the rest
        for item in fields(cls):
            if item.name not in content:
                raise _damaged(path, f"this row's record has no {item.name!r}")
            if not isinstance(content[item.name], _KINDS[item.name]):
                raise _damaged(path, f"{item.name!r} of this row's record is {content[item.name]!r}")
        if unknown := sorted(content.keys() - _KINDS.keys()):
            raise _damaged(path, f"a row's record has no {unknown[0]!r}")
        try:
            asked: dict[str, Any] = content["asked"]
            lists = {key: tuple(asked[key]) for key in ("data", "settings", "files")}
            content["asked"] = Asked(**{**asked, **lists})
        except (KeyError, TypeError) as error:
            raise _damaged(path, f"'asked' of this row's record is damaged ({error})") from None
        record = cls(**content)
        if not record.asked.data:
            raise _damaged(path, "this row's record names no dataset")
        for epoch in record.history:
            if not isinstance(epoch, dict) or not all(key in epoch for key in EPOCH):
                raise _damaged(path, "an epoch of this row's record is damaged")
        numbers = [*flat(record.metrics).values(), *(float(epoch["loss"]) for epoch in record.history)]
        if not all(math.isfinite(value) for value in numbers):
            raise _damaged(path, "a figure of this row's record is not a number")
        return record


_MAPPINGS = ("asked", "data", "encoder", "settings", "made_by", "metrics", "figures")
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("table", "row", "dataset", "recipe", "task", "protocol"), str),
    **dict.fromkeys(("seed", "parameters", "images"), int),
    **dict.fromkeys(("seconds", "seconds_telling"), (int, float)),
    **dict.fromkeys(("history", "notes"), list),
    **dict.fromkeys(_MAPPINGS, dict),
}


def stem(row: str, dataset: str, seed: int = 1) -> str:
    """What a row's record and its run's folder are called."""
    return f"{row}.{dataset}" + (f".seed{seed}" if seed > 1 else "")


def read_records(folder: Path, table: str) -> list[RowRecord]:
    """All records of a table, by name."""
    records = []
    for path in sorted((folder / table).glob("*.json")):
        record = RowRecord.read(path)
        if (record.table, f"{record.stem}.json") != (table, path.name):
            raise RecordError(
                f"this is the record of {record.stem} of {record.table}",
                where=str(path),
                remedy=f"Put it where it belongs: {record.table}/{record.stem}.json",
            )
        records.append(record)
    return records


def made_by() -> dict[str, Any]:
    """The version of seetell and, in a checkout, its commit."""
    return {"version": seetell.__version__, **({"commit": commit} if (commit := _commit()) else {})}


@cache
def _commit() -> str:
    root = Path(seetell.__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{commit} with changes" if changed else commit


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def portable_spec(spec: str) -> str:
    """A dataset without its places: `table:PATH?images=DIR&limit=500`."""
    kind, _, rest = spec.partition(":")
    if kind == "scenes":
        return spec
    _, question, query = rest.partition("?")
    kept = ["images=DIR" if part.startswith("images=") else part for part in query.split("&") if part]
    return f"{kind}:PATH{question}{'&'.join(kept)}"


def portable(value: Any) -> Any:
    """JSON values with floats rounded to six digits, and with files instead of their paths."""
    if isinstance(value, Mapping):
        return {key: portable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [portable(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, str):
        return _without_places(value)
    return value


def _without_places(text: str) -> str:
    """`/home/me/x.txt` is `x.txt`, and so after an `@` or an `=`; words with a slash in them are left alone."""
    for mark in ("@", "="):
        before, found, after = text.partition(mark)
        if found and _is_place(after):
            return f"{before}{mark}{_file(after)}"
    return _file(text) if _is_place(text) else text


def _file(place: str) -> str:
    return re.split(r"[\\/]", place.rstrip("\\/"))[-1]


def _is_place(text: str) -> bool:
    return " " not in text and len(text) > 1 and (text[0] in "/~" or text[1:3] == ":\\" or text.startswith("../"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted(text: str) -> str:
    return f"'{text}'" if set(text) & set('?&[]{} "') else text


def _damaged(path: Path, problem: str) -> RecordError:
    remedy = "Make it again with `seetell learn reproduce`, or remove it"
    return RecordError(problem, where=str(path), remedy=remedy)


def by_row(records: Iterable[RowRecord], dataset: str) -> dict[str, list[RowRecord]]:
    """The records of one dataset: row → its seeds in order."""
    found: dict[str, list[RowRecord]] = {}
    for record in sorted(records, key=lambda record: record.seed):
        if record.dataset == dataset:
            found.setdefault(record.row, []).append(record)
    return found
