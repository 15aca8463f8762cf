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

from seetell.figures.attention import Told, attention_sheet
from seetell.figures.sheet import Cell, contact_sheet, save_image
from seetell.images import decode
from seetell.library import Library, LibraryImage
from seetell.runtime import Model

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
    with Library.open(out / "library", model=bundle) as library:
        library.update([photographs])
        told = [image for file in files if (image := library.find(file)) is not None]
        for image in told:
            tags = ", ".join(f"{tag.label} {tag.confidence:.0%}" for tag in image.tags)
            console.print(f"[bold]{Path(image.path).name}[/]  {escape(image.caption)}  [cyan]{escape(tags)}[/]")

        console.print(f"\n[bold]{MATCHED}[/], matched with texts:")
        for match in library.model.retriever.match(photographs / MATCHED, TEXTS):
            console.print(f"  {match.score:5.2f}  {match.text}")

        for text in SEARCHES:
            results = library.search(text, k=3)
            console.print(
                f"\nSearch: [bold]{text}[/]" + ("" if results.matching else "  (nothing here matches; nearest)")
            )
            for found in results.matching or results[:1]:
                console.print(f"  {found.relevance:4.0%}  {Path(found.image.path).name}  {escape(found.image.caption)}")

        save_image(sheet(told), out / "photographs.png")
        save_image(looked(library.model, photographs / LOOKED_AT), out / "attention.png")
    console.print(
        f"\nThe contact sheet is {out / 'photographs.png'}; where the captioner looked, {out / 'attention.png'}."
    )
    console.print(f"To look around on a page:  seetell serve --library {out / 'library'} --open")
    console.print(f"Whom to thank for the photographs: {photographs / 'CREDITS.txt'}")


def sheet(told: Sequence[LibraryImage]) -> Image.Image:
    cells = [Cell(decode(each.path), each.caption, [", ".join(each.labels)]) for each in told]
    return contact_sheet(cells, columns=5, width=220)


def looked(model: Model, file: Path) -> Image.Image:
    image, best = decode(file), model.captioner(file).best
    if best.attention is None:
        return contact_sheet([Cell(image, best.text)])
    box = model.preparation.visible_box(image.size)
    return attention_sheet(image, [Told(best.words, best.attention)], box=box)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", help="another than the built-in one")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    arguments = parser.parse_args()
    main(arguments.bundle, arguments.out)
