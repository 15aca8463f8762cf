"""What rows cost to train and to tell by, in seconds of one core: `benchmarks/rows.py` measures it, pages show it.

Rows are trained where and when there is time for it, beside other work: the times in their records are those of
differing machines. Here every row trains for some batches on one machine, and all take turns.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from seetell.learn.files import write_text
from seetell.learn.reproduction.records import RecordError

FILE = "costs.json"  # below rows/
COMMAND = "python benchmarks/rows.py TABLE --data DATASET --out docs/results/rows/costs.json"


@dataclass(frozen=True)
class Cost:
    """Args:
    seconds: of the row's own training, all epochs of it; without validation, features being stored.
    samples_a_second: captions or images trained a second.
    told_a_second: images that a captioner tells a second; 0 for other models.
    """

    seconds: float
    samples_a_second: float
    told_a_second: float = 0.0


Costs = Mapping[str, Cost]  # by `records.stem`: attend-soft.flickr8k


def read_costs(path: Path) -> dict[str, Cost]:
    """What is known of the rows' costs; nothing where nobody measured them."""
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: Cost(**{key: float(value) for key, value in each.items()}) for name, each in content.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise RecordError(
            f"these are not the costs of rows ({error})", where=str(path), remedy=f"Measure them anew: {COMMAND}"
        ) from None


def write_costs(path: Path, costs: Costs) -> None:
    """Write a line a row, by name; rows that the file has and `costs` has not stay as they are."""
    lines = [f"{json.dumps(n)}: {json.dumps(asdict(c))}" for n, c in sorted({**read_costs(path), **costs}.items())]
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
