"""What rows cost in seconds of one core: measured by `benchmarks/rows.py`, shown on pages.

Rows are trained on different machines, next to other work, so the times in their records do not compare. This file
holds times for which all rows took turns on one machine, each training for some batches.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from seetell.files import write_file
from seetell.learn.reproduction.records import RecordError
from seetell.settings import Settings, plain, read

FILE = "costs.json"  # below rows/
COMMAND = "python benchmarks/rows.py TABLE --data DATASET --out docs/results/rows/costs.json"


class Cost(Settings, frozen=True):
    """The cost of a row.

    Args:
        seconds: training time of all epochs from stored features, without validation.
        samples_per_second: captions or images trained per second.
        captions_per_second: images captioned per second; 0 for other models.
    """

    seconds: float
    samples_per_second: float
    captions_per_second: float = 0.0


Costs = Mapping[str, Cost]  # by `records.stem`: attend-soft.flickr8k


def read_costs(path: Path) -> dict[str, Cost]:
    """The measured costs; empty if there is no file."""
    if not path.exists():
        return {}
    remedy = f"Measure them again: {COMMAND}"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecordError(f"not the costs of rows ({error})", where=str(path), remedy=remedy) from None
    rows = read(dict[str, dict[str, object]], content, where=str(path), remedy=remedy, error=RecordError)
    return {
        name: read(Cost, row, where=f"{path}: {name}", remedy=remedy, error=RecordError) for name, row in rows.items()
    }


def write_costs(path: Path, costs: Costs) -> None:
    """Write one row per line, sorted by name; rows of the file that are not in `costs` are kept."""
    lines = [f"{json.dumps(n)}: {json.dumps(plain(c))}" for n, c in sorted({**read_costs(path), **costs}.items())]
    write_file(path, "{\n" + ",\n".join(lines) + "\n}\n")
