"""Examples of what a retrieval run finds: a page, and one image per sheet."""

from pathlib import Path

from seetell.evaluation.retrieval_sheet import EmbeddedSplit, retrieval_sheets
from seetell.evaluation.word_matches import content_words
from seetell.figures.retrieval_page import retrieval_page
from seetell.figures.retrieval_sheet import draw_sheet
from seetell.figures.sheet import save_image
from seetell.files import write_file
from seetell.text import default_vectors


def write_retrieval_sheets(
    split: EmbeddedSplit, out: Path, *, title: str, about: str = "", count: int = 4
) -> list[Path]:
    """Write `retrieval.html`, `best.png`, `worst.png` and `random.png`; the default vectors find similar words."""
    out.mkdir(parents=True, exist_ok=True)
    sheets = retrieval_sheets(split, default_vectors(content_words(split.captions)), count=count)
    page = out / "retrieval.html"
    write_file(page, retrieval_page(sheets, title, about))
    paths = [page]
    for name, sheet in sheets.items():
        paths.append(out / f"{name}.png")
        save_image(draw_sheet(sheet), paths[-1])
    return paths
