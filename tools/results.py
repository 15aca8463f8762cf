"""Draws all pages of docs/results, and the README's table, from the records of rows.

    python tools/results.py [docs/results] [--readme README.md]

It takes seconds and needs no data, features or runs. `make results` calls it.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from seetell.errors import SeetellError
from seetell.learn.reproduction.pages.overview import write_results

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "docs" / "results", help="folder of the pages")
    parser.add_argument("--readme", type=Path, help="file that gets the headline rows, between two markers")
    given = parser.parse_args(arguments)
    try:
        for line in write_results(given.folder, given.readme):
            print(line)
    except SeetellError as error:
        sys.exit(f"results: {error}")


if __name__ == "__main__":
    main()
