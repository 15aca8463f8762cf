"""Runs every command of docs/adapt.md, and fills in its figures.

    python tools/adapt.py [--work build/adapt] [--from BUNDLE]

With another bundle than the built-in one, the figures are printed and the page stays as it is.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "adapt.md"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURES = re.compile(r"(<!-- figures:begin -->\n).*(<!-- figures:end -->)", re.DOTALL)
SHOWN = {
    "tagger": ("f1_of_means", "map"),
    "captioner": ("bleu4", "cider"),
    "retriever": ("sum_of_recalls",),
}


def commands(page: str) -> list[list[str]]:
    """What the page's blocks run, in order, as words after `python`."""
    found = []
    for kind, text in BLOCK.findall(page):
        if kind == "python":
            found.append(["-c", text])
        else:
            found += [["-m", "seetell.cli", *shlex.split(line)[1:]] for line in text.splitlines()]
    return found


def run(page: str, work: Path, bundle: str = "builtin", more: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Run a page's commands in a folder; the reports of those that evaluate, in order.

    Args:
        bundle: in the place of the built-in one.
        more: options for every training.
    """
    reports: list[dict[str, Any]] = []
    work.mkdir(parents=True, exist_ok=True)
    for words in commands(page):
        words = [bundle if word == "builtin" else word for word in words]
        evaluates = "evaluate" in words[:3]
        if "train" in words[:4]:
            words += more
        if evaluates:
            words.append("--json")
        done = subprocess.run([sys.executable, *words], cwd=work, stdout=subprocess.PIPE, check=True, text=True)
        if evaluates:
            reports.append({row["kind"]: row["metrics"] for row in map(json.loads, done.stdout.splitlines())})
    return reports


def table(before: dict[str, Any], after: dict[str, Any]) -> str:
    rows = ["| held-out images | built-in | adapted |", "|---|---:|---:|"]
    for kind, metrics in SHOWN.items():
        rows += [f"| {kind}, {each} | {before[kind][each]:.1f} | {after[kind][each]:.1f} |" for each in metrics]
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "adapt", help="a folder that is not there yet")
    parser.add_argument("--from", dest="bundle", default="builtin")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    figures = table(*run(page, given.work, given.bundle))
    print(figures)
    if given.bundle == "builtin":
        PAGE.write_text(FIGURES.sub(lambda found: found[1] + figures + found[2], page), encoding="utf-8")


if __name__ == "__main__":
    main()
