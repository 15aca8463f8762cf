"""Draw a dozen scenes, print their captions and labels, and write a contact sheet."""

import io
from pathlib import Path

from PIL import Image
from rich.console import Console

from seetell.data import open_dataset
from seetell.pictures.sheet import Cell, contact_sheet, save_picture


def main() -> None:
    console = Console()
    dataset = open_dataset("scenes:12")
    cells = []
    for record in dataset.records:
        console.print(f"[bold]{record.key}[/]  [cyan]{', '.join(record.labels)}[/]")
        for caption in record.captions:
            console.print(f"    {caption}")
        picture = Image.open(io.BytesIO(record.picture.read()))
        cells.append(Cell(picture, record.captions[0], [", ".join(record.labels)]))
    out = Path("demo") / "scenes.png"
    save_picture(contact_sheet(cells, title="Scenes that seetell draws and describes"), out)
    console.print(f"\nThe pictures are in [bold]{out}[/].")


if __name__ == "__main__":
    main()
