"""Ways to write captions: text, JSON, CSV, HTML, and files beside the images."""

import csv
import html
import io
import json
import os
from pathlib import Path

from seetell.errors import SeetellError
from seetell.images.xmp import as_xmp
from seetell.runtime import Caption, CaptionResult


def as_text(result: CaptionResult) -> str:
    if result.error is not None:
        return f"{result.name}\t! {result.error.problem}"
    return "\n".join(f"{result.name}\t{caption.hedged}" for caption in result.captions)


def as_json(result: CaptionResult, several: bool) -> str:
    """One object; with several captions asked for, all of them under `captions`."""
    if result.error is not None:
        return json.dumps({"path": result.name, "error": str(result.error)}, ensure_ascii=False)
    best = result.best
    row: dict[str, object] = {"path": result.name, **_told(best)}
    if several:
        row["captions"] = [_told(caption) for caption in result.captions]
    return json.dumps(row, ensure_ascii=False)


def _told(caption: Caption) -> dict[str, object]:
    row: dict[str, object] = {"caption": caption.text, "score": round(caption.log_probability, 4)}
    return (
        row
        if caption.similarity is None
        else {**row, "similarity": round(caption.similarity, 4), "uncertain": caption.uncertain}
    )


def csv_row(values: list[object]) -> str:
    """One line. A text that a spreadsheet would run as a formula has an apostrophe before it."""
    safe = [f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "@", "\t") else value for value in values]
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(safe)
    return line.getvalue()


def as_csv(result: CaptionResult) -> str:
    if result.error is not None:
        return csv_row([result.name, "", "", "", str(result.error)])
    best = result.best
    return csv_row([result.name, best.text, round(best.log_probability, 4), "yes" if best.uncertain else "", ""])


def as_html(result: CaptionResult) -> str:
    """An `img` element whose alternative text is the caption."""
    if result.error is not None:
        return f"<!-- {html.escape(result.name).replace('--', '- -')}: could not be read -->"
    source = html.escape(Path(result.name).as_posix(), quote=True)
    return f'<img src="{source}" alt="{html.escape(result.best.hedged, quote=True)}">'


def write_sidecar(result: CaptionResult, kind: str) -> Path | None:
    """A file beside the image: `photo.txt` or `photo.xmp`, which is what image managers look for. One that is there
    already is left alone: it may hold what somebody wrote. None says so, and is also what an unreadable image gives.
    """
    if result.error is not None:
        return None
    path = Path(result.name).with_suffix(f".{kind}")
    if path.exists():
        return None
    text = f"{result.best.hedged}\n" if kind == "txt" else as_xmp(result.best.hedged)
    write_atomically(path, text.encode("utf-8"))
    return path


def write_atomically(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SeetellError(f"this file cannot be written: {error.strerror}", where=str(path)) from None
