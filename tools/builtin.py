"""Builds the built-in model from its data: features, three runs, one bundle, its scores, its model card.

    make builtin DATA=folder [IMAGES=folder] [LIMIT=2000] [OUT=folder] [RUNS=folder] [KEEP=tags,retrieval]

DATA contains `flickr8k`, and in `coco` the tables `labels.tsv` and `captions.jsonl`; COCO's images are in
`coco/train2017`, or in the folder given by --images. `builtin.toml` defines the stages of training. Interrupt it at any
time; it resumes where it stopped, and finished runs are reused. The bundle is written into the package and the page of
its scores into docs/results; with a limit on the images of each split, both go into the work folder. At the end
it prints a hash of every file, to compare two builds on one machine. --keep takes heads from the bundle that is in
the package instead of training them; --redraw only rewrites the pages from that bundle.
"""

import argparse
import hashlib
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builtin_build import HEADS, measure, pack, ship, train_all
from builtin_pages import (
    CARD,
    comparison,
    line_of,
    model_card,
    redraw,
    results_page,
    training_blocks,
    training_line,
    update_readme,
)

from seetell.bundle import Bundle
from seetell.errors import SeetellError
from seetell.files import write_file
from seetell.learn.reproduction.records import software
from seetell.learn.training.run import Run
from seetell.progress import for_terminal

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"


def main(arguments: Sequence[str] | None = None) -> None:
    given = parse(arguments)
    try:
        out = build(given)
    except SeetellError as error:
        sys.exit(f"builtin: {error}")
    for file in sorted(path for path in out.iterdir() if path.is_file()):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=Path("data"))
    parser.add_argument("--images", type=Path, help="folder of COCO's images")
    parser.add_argument("--limit", type=int, help="at most this many images of each split, for a quick trial")
    parser.add_argument("--work", type=Path, help="folder of runs and measurements")
    parser.add_argument("--runs", type=Path, help="folder of runs, if not in the work folder")
    parser.add_argument("--no-training", action="store_true", help="use the runs as they are, finished or not")
    parser.add_argument("--store", type=Path, help="folder of feature stores")
    parser.add_argument("--out", type=Path, help="folder of the bundle")
    parser.add_argument("--keep", default="", help="heads to keep, separated by commas: tags,retrieval")
    parser.add_argument("--redraw", action="store_true", help="only rewrite the pages of the bundle in the package")
    parser.add_argument("--plan", type=Path, default=ROOT / "tools" / "builtin.toml")
    return parser.parse_args(arguments)


def build(given: argparse.Namespace) -> Path:
    """Train, pack, measure and document the model; returns the folder of its bundle."""
    plan = tomllib.loads(given.plan.read_text(encoding="utf-8"))
    if given.limit:
        plan["remarks"] = ""  # they describe the full model
    work = given.work or ROOT / "build" / ("builtin" + (f"-{given.limit}" if given.limit else ""))
    runs = given.runs or work / "runs"
    data = specs(plan, given.data, given.images or given.data / "coco" / "train2017", given.limit)
    shipped: Path = ROOT / "src" / "seetell" / "builtin" / plan["name"]
    if given.redraw:
        redraw(plan, shipped, RESULTS / "builtin.md")
        return shipped
    out: Path = given.out or (work / plan["name"] if given.limit else shipped)
    kept = [name.strip() for name in given.keep.split(",") if name.strip()]
    commit = software().get("commit", "")  # before the bundle is written, which would count as a change
    progress = for_terminal()
    if not given.no_training:
        train_all(plan, given.plan.parent, data, runs, given.store, kept, progress)
    heads = [runs / head for head in HEADS if head not in kept]
    packed = pack(plan, data, heads, work, Bundle.open(shipped) if kept else None, progress)
    kept_lines = [line_of(shipped / CARD, f"- **{name}**") for name in kept]
    kept_rows = [line_of(RESULTS / "builtin.md", f"| {name} |").strip("| ").split(" | ") for name in kept]
    scores = {name: measure(packed, data[name], work, progress) for name in plan["tested"]}
    bundle = ship(packed, scores, out)
    progress.message(f"{out}: {bundle.size / 1e6:.1f} MB")
    training = [*(training_line(Run.open(run)) for run in heads), *kept_lines]
    write_file(out / CARD, model_card(plan, bundle, training, out, commit))
    page = results_page(plan, bundle)
    page.add(*training_blocks(plan, packed, heads, work, kept_rows))
    path = (work if given.limit else RESULTS) / "builtin.md"
    write_file(path, page.markdown())
    progress.message(str(path))
    if not given.limit:
        update_readme(ROOT / "README.md", comparison(plan, bundle))
    return out


def specs(plan: Mapping[str, Any], data: Path, images: Path, limit: int | None) -> dict[str, str]:
    """The addresses of the plan's datasets, by name."""
    found = {name: spec.format(data=data, images=images) for name, spec in plan["data"].items()}
    if not limit:
        return found
    return {name: f"{spec}{'&' if '?' in spec else '?'}limit={limit}" for name, spec in found.items()}


if __name__ == "__main__":
    main()
