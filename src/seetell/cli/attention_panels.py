"""`seetell caption --attention`: images of where the captioner looked for each word."""

import hashlib
import io
from pathlib import Path

from seetell.errors import SeetellError
from seetell.figures.attention import AttendedCaption, attention_sheet
from seetell.files import write_file
from seetell.images import decode
from seetell.runtime import CaptionResult, Model


def make_folder(model: Model, folder: Path) -> None:
    """Make the folder for panels; fails before any image is captioned if there will be nothing to write."""
    if not model.captioner.decoder.attention:
        raise SeetellError(
            "the captioner of this model has no attention to show",
            where=str(model.bundle.path),
            remedy="Choose a model with attention (attend, convolutional), or leave --attention out",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SeetellError(
            f"this folder cannot be made: {error.strerror}", where=str(folder), remedy="Choose another for --attention"
        ) from None


def write_panels(model: Model, result: CaptionResult, folder: Path) -> None:
    """Write a PNG with a row of panels per caption."""
    image = decode(result.name)
    rows = [
        AttendedCaption(each.words, each.attention, each.gate) for each in result.captions if each.attention is not None
    ]
    sheet = attention_sheet(image, rows, box=model.preparation.visible_box(image.size))
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG")
    # Images of the same name in two folders must not share a file.
    suffix = hashlib.sha256(str(Path(result.name).absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:6]
    write_file(folder / f"{Path(result.name).stem}-{suffix}.png", buffer.getvalue())
