"""Captions, tags, matches and searches ten free photographs.

    make demo                                # or: python examples/demo.py [--model MODEL] [--out demo]

Writes OUT/photographs.png, a contact sheet, and OUT/attention.png: the attention behind each word of a caption.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.markup import escape
from samples import SAMPLES, Sample, copy_samples

from seetell.figures.attention import AttendedCaption, attention_sheet
from seetell.figures.sheet import Cell, contact_sheet, save_image
from seetell.images import decode
from seetell.library import Library, LibraryImage
from seetell.runtime import Model

SEARCHES = ("a cat", "something hot to drink", "an old building by the water")
MATCHED = "coffee.png"
TEXTS = ("a cup of coffee on a table", "a dog running in the grass", "a plate with a slice of pizza")
ATTENTION = "photographer.png"


def main(
    model: str | None = None,
    out: Path = Path("demo"),
    samples: Sequence[Sample] = SAMPLES,
    console: Console | None = None,
) -> None:
    console = console or Console(highlight=False)
    photographs = out / "photographs"
    files = copy_samples(samples, photographs)
    shutil.rmtree(out / "library", ignore_errors=True)  # an earlier demo may have used another model
    with Library.open(out / "library", model=model) as library:
        library.update([photographs])
        images = [image for file in files if (image := library.find(file)) is not None]
        for image in images:
            tags = ", ".join(f"{tag.label} {tag.confidence:.0%}" for tag in image.tags)
            console.print(f"[bold]{Path(image.path).name}[/]  {escape(image.caption)}  [cyan]{escape(tags)}[/]")

        console.print(f"\n[bold]{MATCHED}[/] and its similarity to texts:")
        for match in library.model.retriever.match(photographs / MATCHED, TEXTS):
            console.print(f"  {match.score:5.2f}  {match.text}")

        for text in SEARCHES:
            results = library.search(text, k=3)
            console.print(f"\nSearch: [bold]{text}[/]" + ("" if results.matching else "  (no match; nearest image)"))
            for found in results.matching or results[:1]:
                console.print(f"  {found.relevance:4.0%}  {Path(found.image.path).name}  {escape(found.image.caption)}")

        save_image(captioned_sheet(images), out / "photographs.png")
        save_image(attention_of(library.model, photographs / ATTENTION), out / "attention.png")
    console.print(f"\nContact sheet: {out / 'photographs.png'}")
    console.print(f"Attention behind each word: {out / 'attention.png'}")
    console.print(f"Credits of the photographs: {photographs / 'CREDITS.txt'}")
    console.print(f"Browse them on a web page:  seetell serve --library {out / 'library'} --open")


def captioned_sheet(images: Sequence[LibraryImage]) -> Image.Image:
    cells = [Cell(decode(each.path), each.caption, [", ".join(each.labels)]) for each in images]
    return contact_sheet(cells, columns=5, width=220)


def attention_of(model: Model, file: Path) -> Image.Image:
    image, best = decode(file), model.captioner(file).best
    if best.attention is None:
        return contact_sheet([Cell(image, best.text)])
    box = model.preparation.visible_box(image.size)
    return attention_sheet(image, [AttendedCaption(best.words, best.attention)], box=box)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="name or folder of a model; by default the built-in one")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    arguments = parser.parse_args()
    main(arguments.model, arguments.out)
