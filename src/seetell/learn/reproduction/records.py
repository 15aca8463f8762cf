"""Row records: everything a page needs to know about a finished row, in one small, self-contained file.

All pages of docs/results are drawn from records; runs, features and data need not be kept. A record is
`TABLE/ROW.DATASET[.seedN].json`: the metrics on the test split, every epoch on the validation split, what was trained
on which data and for how long, the version of seetell, and the command that reproduces it. It contains no paths of the
machine that made it.
"""

import json
import math
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import msgspec

import seetell
from seetell.errors import SeetellError
from seetell.files import write_file
from seetell.learn.reproduction.portable import portable
from seetell.metrics.flatten import flatten_metrics
from seetell.settings import Settings, plain, read

FORMAT = 2
REMEDY = "Reproduce it with `seetell learn reproduce`, or remove it"


class RecordError(SeetellError):
    """A row's record that cannot be read."""


class Request(Settings, frozen=True):
    """The part of the command line that rows share.

    Args:
        data: the datasets, without paths: `flickr8k:PATH`.
        settings: as given with `--set`.
        files: the names of the files given with `--with`: `vgg16`.
    """

    data: tuple[str, ...]
    budget: str = "two-cores"
    settings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def command(self, table: str, dataset: str, rows: Sequence[str], seeds: str = "") -> str:
        """The command that reproduces rows.

        Args:
            seeds: `--seed 2` or `--seeds 3`; "": as many as the table has.
        """
        data = " ".join(f"--data {_quoted(spec)}" for spec in self.data)
        parts = [f"seetell learn reproduce {table} {data}"]
        if self.data[0].partition(":")[0] != dataset:
            parts.append(f"--dataset {dataset}")
        parts.append(f"--out DIR --rows {','.join(rows)}")
        parts += [f"--with {name}=FILE" for name in self.files]
        parts += [seeds] if seeds else []
        parts += [f"--budget {self.budget}"] if self.budget != "two-cores" else []
        parts += [f"--set {_quoted(setting)}" for setting in self.settings]
        return " ".join(parts)


class Epoch(TypedDict):
    """An epoch of training, and the metrics on the validation split after it."""

    phase: int
    epoch: int
    loss: float
    samples: int
    seconds: float
    score: float
    metrics: dict[str, Any]
    best: NotRequired[bool]
    advice: NotRequired[str]


class RowRecord(Settings, frozen=True, kw_only=True):
    """A finished row of a table.

    Args:
        dataset: what it was trained and tested on: `flickr8k`.
        request: the part of the command line it shares with other rows.
        data: a fingerprint of the dataset's names, splits, captions and labels, and the number of images of each split.
        encoder: name, fingerprint of its weights, layout, crops, view and size.
        settings: the recipe as it was trained.
        software: version of seetell, commit if it was a checkout, number of threads.
        seconds: training time.
        seconds_decoding: time spent on generating captions for the test split; 0 for other tasks.
        figures: data of the examples and plots on the page: `captions` or `tags`.
        history: every epoch.
    """

    table: str
    row: str
    dataset: str
    seed: int
    recipe: str
    task: str
    request: Request
    data: dict[str, Any]
    encoder: dict[str, Any]
    settings: dict[str, Any]
    software: dict[str, Any]
    parameters: int
    images: int
    protocol: str
    metrics: dict[str, Any]
    seconds: float
    seconds_decoding: float = 0.0
    notes: list[str] = msgspec.field(default_factory=list)
    figures: dict[str, Any] = msgspec.field(default_factory=dict)
    history: list[Epoch] = msgspec.field(default_factory=list)

    @property
    def stem(self) -> str:
        return stem(self.row, self.dataset, self.seed)

    @property
    def flat(self) -> dict[str, float]:
        """All figures of the row by name, including its cost."""
        figures = {**flatten_metrics(self.metrics), "seconds": self.seconds, "epochs": float(len(self.history))}
        trained = sum(epoch["seconds"] for epoch in self.history)
        if trained:
            figures["samples_per_second"] = sum(epoch["samples"] for epoch in self.history) / trained
        if self.seconds_decoding:
            figures["captions_per_second"] = self.images / self.seconds_decoding
        return {**figures, "parameters": float(self.parameters)}

    @property
    def command(self) -> str:
        """The command that reproduces this row with this seed."""
        return self.request.command(self.table, self.dataset, [self.row], f"--seed {self.seed}")

    def write(self, folder: Path) -> Path:
        """Write it under its own name; returns the file."""
        path = folder / f"{self.stem}.json"
        folder.mkdir(parents=True, exist_ok=True)
        write_file(path, self.text())
        return path

    def text(self) -> str:
        """The content of the file: one field per line and one epoch per line, for readable diffs."""
        content = portable(plain(self))
        history = content.pop("history")
        lines = [f'"format": {FORMAT}', f'"command": {_json(self.command)}']
        lines += [f"{_json(key)}: {_json(value)}" for key, value in content.items()]
        epochs = ",\n  ".join(_json(epoch) for epoch in history)
        lines.append(f'"history": [\n  {epochs}\n]' if history else '"history": []')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def read(cls, path: Path) -> "RowRecord":
        """Read a record; errors name the file and the key."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _damaged(path, f"not a row record ({error})") from None
        if not isinstance(content, dict):
            raise _damaged(path, "not a row record")
        if (version := content.pop("format", None)) != FORMAT:
            raise _damaged(path, f"format is {version}; this version reads format {FORMAT}")
        content.pop("command", None)  # follows from the rest
        record = read(cls, content, where=str(path), remedy=REMEDY, error=RecordError)
        if not record.request.data:
            raise _damaged(path, "request.data names no dataset")
        losses = {f"history[{number}].loss": epoch["loss"] for number, epoch in enumerate(record.history)}
        for key, value in (flatten_metrics({"metrics": record.metrics}) | losses).items():
            if not math.isfinite(value):
                raise _damaged(path, f"{key} is {value}; expected a finite number")
        return record


def stem(row: str, dataset: str, seed: int = 1) -> str:
    """The name of a row's record and of its run's folder."""
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
                remedy=f"Move it to {record.table}/{record.stem}.json",
            )
        records.append(record)
    return records


def by_row(records: Iterable[RowRecord], dataset: str) -> dict[str, list[RowRecord]]:
    """The records of one dataset: row → its seeds in order."""
    found: dict[str, list[RowRecord]] = {}
    for record in sorted(records, key=lambda record: record.seed):
        if record.dataset == dataset:
            found.setdefault(record.row, []).append(record)
    return found


def software() -> dict[str, Any]:
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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted(text: str) -> str:
    return f"'{text}'" if set(text) & set('?&[]{} "') else text


def _damaged(path: Path, problem: str) -> RecordError:
    return RecordError(problem, where=str(path), remedy=REMEDY)
