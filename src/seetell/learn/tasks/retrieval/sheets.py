"""Writes what a retrieval run finds for some queries of a split: a page, and an image a sheet."""

from pathlib import Path

from seetell.evaluation.word_matches import content_words
from seetell.evaluation.retrieval_sheet import EmbeddedSplit, retrieval_sheets
from seetell.figures.retrieval_page import retrieval_page
from seetell.figures.retrieval_sheet import draw_sheet
from seetell.figures.sheet import save_image
from seetell.learn.files import write_text
from seetell.text import default_vectors


def write_retrieval_sheets(
    split: EmbeddedSplit, out: Path, *, title: str, about: str = "", count: int = 4
) -> list[Path]:
    """Write `retrieval.html`, and `best.png`, `worst.png` and `random.png`; words are alike by the default vectors."""
    out.mkdir(parents=True, exist_ok=True)
    sheets = retrieval_sheets(split, default_vectors(content_words(split.captions)), count=count)
    page = out / "retrieval.html"
    write_text(page, retrieval_page(sheets, title, about))
    paths = [page]
    for name, sheet in sheets.items():
        paths.append(out / f"{name}.png")
        save_image(draw_sheet(sheet), paths[-1])
    return paths
