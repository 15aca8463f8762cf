"""Sheets of a captioning run: the best, the worst and random captions of a split, and the attention of each word."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image

from seetell.data import Record
from seetell.decoding import Decoded
from seetell.figures.attention import AttendedCaption, attention_sheet
from seetell.figures.captions import CaptionExample, caption_sheets
from seetell.figures.page import Figure, Heading, Page, Paragraph
from seetell.figures.sheet import save_image
from seetell.images import decode
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.tasks.captioning.decode import decoding_of, generate, sentences
from seetell.learn.training.inputs import ImageInputs
from seetell.learn.training.run import Run
from seetell.metrics.attention import looks_at_what_it_names, named_things
from seetell.metrics.captions.scores import score_captions


def captions_by(run: Run, images: ImageInputs, indices: np.ndarray | None = None) -> list[Decoded]:
    """Captions of some images by a run's best model, with the run's own decoding."""
    assert run.vocabulary is not None
    model = cast(CaptionModel, run.model())
    return generate(model, images, run.vocabulary, decoding_of(run.recipe), indices=indices)


def write_caption_sheets(
    run: Run,
    records: Sequence[Record],
    images: ImageInputs,
    decoded: Sequence[Decoded],
    out: Path,
    *,
    about: str = "",
    count: int = 12,
    attention: int = 4,
) -> Path:
    """Write `captions.md` and `captions.html`: the best, the worst and random captions, by each image's CIDEr, and for
    attention models the attention of each word in some of them.

    Args:
        decoded: the run's captions of all `records`.
        count: images per sheet.
        attention: images whose attention is shown.
    """
    assert run.vocabulary is not None
    out.mkdir(parents=True, exist_ok=True)
    captions = [" ".join(words) for words in sentences(decoded, run.vocabulary)]
    scores = score_captions(captions, [record.captions for record in records], meteor=False).per_image["cider"]
    captioned = [
        CaptionExample(lambda record=record: _open(record), caption, record.captions, float(score))  # type: ignore[misc]
        for record, caption, score in zip(records, captions, scores, strict=True)
    ]
    page = Page(f"Captions by {run.recipe.name}")
    page.add(*([Paragraph(about)] if about else []))
    for name, sheet in caption_sheets(captioned, count=count).items():
        save_image(sheet, out / f"{name}.png")
        page.add(Heading(name.capitalize()), Figure(f"{name}.png", f"{name.capitalize()} captions"))
    shown = np.random.default_rng(0).permutation(len(records))[:attention].tolist()
    sheets = write_attention_sheets({run.recipe.row or run.recipe.name: (run, images)}, records, shown, out)
    if sheets:
        page.add(Heading("Attention"))
        page.add(*(Figure(sheet.name, "One panel per word: its attention") for sheet in sheets))
    page.write(out, "captions")
    return out / "captions.html"


def write_attention_sheets(
    runs: Mapping[str, tuple[Run, ImageInputs]],
    records: Sequence[Record],
    indices: Sequence[int],
    out: Path,
    *,
    prefix: str = "",
) -> list[Path]:
    """Write one sheet per image with the attention of every run, one below the other (Xu, Figure 3).

    Args:
        runs: by their names on the sheet, each with the records' images as it reads them.
        indices: which images.
        prefix: of the files' names.
    """
    chosen = np.asarray(indices)
    by_run = {name: (run, captions_by(run, images, chosen)) for name, (run, images) in runs.items()}
    paths = []
    for number, index in enumerate(indices):
        image = _open(records[index])
        rows = []
        for name, (run, captions) in by_run.items():
            caption = captions[number]
            if caption.attention is not None and run.vocabulary is not None and len(caption.tokens):
                words = run.vocabulary.decode(caption.tokens.tolist())
                rows.append(AttendedCaption(words, caption.attention, caption.gate, name))
        if rows:
            box = next(iter(by_run.values()))[0].preparation.visible_box(image.size)
            paths.append(out / f"{prefix}attention-{Path(records[index].key).stem}.png")
            save_image(attention_sheet(image, rows, box=box), paths[-1])
    return paths


def attention_on_objects(run: Run, records: Sequence[Record], decoded: Sequence[Decoded]) -> dict[str, float]:
    """How much of the attention of words that name objects falls on them, where the dataset has bounding boxes."""
    assert run.vocabulary is not None
    named = []
    for record, caption in zip(records, decoded, strict=True):
        if record.boxes and caption.attention is not None:
            view = run.preparation.visible_box(_open(record).size)
            words = run.vocabulary.decode(caption.tokens.tolist())
            named += named_things(words, caption.attention, record.boxes, view)
    return looks_at_what_it_names(named)


def _open(record: Record) -> Image.Image:
    return decode(record.image.read(), name=record.image.name)
