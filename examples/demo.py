"""Ten free photographs captioned, tagged, matched with texts, and put into a library that is searched.

    make demo                                # or: python examples/demo.py [--bundle BUNDLE] [--out demo]

Writes OUT/photographs.png, a contact sheet, and OUT/attention.png: where the captioner looked for each word.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.markup import escape
from samples import SAMPLES, Sample, copied

from seetell.images import decode
from seetell.library import Library, Picture
from seetell.pictures.attention import Told, attention_sheet
from seetell.pictures.sheet import Cell, contact_sheet, save_picture
from seetell.runtime import Suite

SEARCHES = ("a cat", "something hot to drink", "an old building by the water")
MATCHED = "coffee.png"
TEXTS = ("a cup of coffee on a table", "a dog running in the grass", "a plate with a slice of pizza")
LOOKED_AT = "photographer.png"


def main(
    bundle: str | None = None,
    out: Path = Path("demo"),
    samples: Sequence[Sample] = SAMPLES,
    console: Console | None = None,
) -> None:
    console = console or Console(highlight=False)
    photographs = out / "photographs"
    files = copied(samples, photographs)
    shutil.rmtree(out / "library", ignore_errors=True)  # of an earlier demo, perhaps with another bundle
    with Library.open(out / "library", bundle=bundle) as library:
        library.update([photographs])
        told = [picture for file in files if (picture := library.find(file)) is not None]
        for picture in told:
            tags = ", ".join(f"{tag.label} {tag.confidence:.0%}" for tag in picture.tags)
            console.print(f"[bold]{Path(picture.path).name}[/]  {escape(picture.caption)}  [cyan]{escape(tags)}[/]")

        console.print(f"\n[bold]{MATCHED}[/], matched with texts:")
        for match in library.suite.retriever.match(photographs / MATCHED, TEXTS):
            console.print(f"  {match.score:5.2f}  {match.text}")

        for text in SEARCHES:
            results = library.search(text, k=3)
            console.print(
                f"\nSearch: [bold]{text}[/]" + ("" if results.matching else "  (nothing here matches; nearest)")
            )
            for found in results.matching or results[:1]:
                console.print(
                    f"  {found.relevance:4.0%}  {Path(found.picture.path).name}  {escape(found.picture.caption)}"
                )

        save_picture(sheet(told), out / "photographs.png")
        save_picture(looked(library.suite, photographs / LOOKED_AT), out / "attention.png")
    console.print(
        f"\nThe contact sheet is {out / 'photographs.png'}; where the captioner looked, {out / 'attention.png'}."
    )
    console.print(f"To look around on a page:  seetell serve --library {out / 'library'} --open")
    console.print(f"Whom to thank for the photographs: {photographs / 'CREDITS.txt'}")


def sheet(told: Sequence[Picture]) -> Image.Image:
    cells = [Cell(decode(each.path), each.caption, [", ".join(each.labels)]) for each in told]
    return contact_sheet(cells, columns=5, width=220)


def looked(suite: Suite, file: Path) -> Image.Image:
    picture, best = decode(file), suite.captioner(file).best
    if best.attention is None:
        return contact_sheet([Cell(picture, best.text)])
    box = suite.preparation.visible_box(picture.size)
    return attention_sheet(picture, [Told(best.words, best.attention)], box=box)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", help="another than the built-in one")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    arguments = parser.parse_args()
    main(arguments.bundle, arguments.out)
