"""Captions as text, JSON, CSV, HTML and sidecar files."""

import html
import json
from pathlib import Path

from seetell.files import csv_row, write_file
from seetell.images.xmp import as_xmp
from seetell.runtime import Caption, CaptionResult

CSV_HEADER = "path,caption,score,uncertain,error"


def as_text(result: CaptionResult) -> str:
    """The path and the caption, separated by a tab; a line per caption."""
    if result.error is not None:
        return f"{result.name}\t! {result.error.problem}"
    return "\n".join(f"{result.name}\t{caption.hedged}" for caption in result.captions)


def as_json(result: CaptionResult, *, several: bool = False) -> str:
    """One object; if several captions were requested, all of them under `captions`."""
    if result.error is not None:
        return json.dumps({"path": result.name, "error": str(result.error)}, ensure_ascii=False)
    row: dict[str, object] = {"path": result.name, **_fields(result.best)}
    if several:
        row["captions"] = [_fields(caption) for caption in result.captions]
    return json.dumps(row, ensure_ascii=False)


def as_csv(result: CaptionResult) -> str:
    """A row under `CSV_HEADER`."""
    if result.error is not None:
        return csv_row([result.name, "", "", "", str(result.error)])
    best = result.best
    return csv_row([result.name, best.text, round(best.log_probability, 4), "yes" if best.uncertain else "", ""])


def as_html(result: CaptionResult) -> str:
    """An `img` element with the caption as its alternative text."""
    if result.error is not None:
        return f"<!-- {html.escape(result.name).replace('--', '- -')}: could not be read -->"
    source = html.escape(Path(result.name).as_posix(), quote=True)
    return f'<img src="{source}" alt="{html.escape(result.best.hedged, quote=True)}">'


def write_sidecar(result: CaptionResult, kind: str) -> bool:
    """Write `photo.txt` or `photo.xmp` next to `photo.jpg`; False if there is such a file, which is left alone."""
    path = Path(result.name).with_suffix(f".{kind}")
    if path.exists():
        return False
    write_file(path, f"{result.best.hedged}\n" if kind == "txt" else as_xmp(result.best.hedged))
    return True


def _fields(caption: Caption) -> dict[str, object]:
    row: dict[str, object] = {"caption": caption.text, "score": round(caption.log_probability, 4)}
    if caption.similarity is None:
        return row
    return {**row, "similarity": round(caption.similarity, 4), "uncertain": caption.uncertain}
