"""What captioners tell, shown: the best, the worst and some captions of a split, and where words were looked for."""

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
from seetell.learn.tasks.captioning.decode import DecodingSettings, sentences, tell
from seetell.learn.training.inputs import ImageInputs
from seetell.learn.training.run import Run
from seetell.metrics.attention import looks_at_what_it_names, named_things
from seetell.metrics.captions.scores import score_captions


def told_by(run: Run, images: ImageInputs, places: np.ndarray | None = None) -> list[Decoded]:
    """What a run's best model tells of some images, by the run's own decoding."""
    assert run.vocabulary is not None
    settings = DecodingSettings.of(run.recipe.decoding)
    return tell(cast(CaptionModel, run.model()), images, run.vocabulary, settings, places=places)


def write_caption_sheets(
    run: Run,
    records: Sequence[Record],
    images: ImageInputs,
    told: Sequence[Decoded],
    out: Path,
    *,
    about: str = "",
    count: int = 12,
    looks: int = 4,
) -> Path:
    """Write `captions.md` and `captions.html` with sheets of the best, the worst and random captions, by each image's
    CIDEr, and, where the model attends, of where it looked for each word of some random ones.

    Args:
        told: what the run told of all `records`.
        count: images a sheet.
        looks: images whose attention is shown.
    """
    assert run.vocabulary is not None
    out.mkdir(parents=True, exist_ok=True)
    captions = [" ".join(words) for words in sentences(told, run.vocabulary)]
    scores = score_captions(captions, [record.captions for record in records], meteor=False).per_image["cider"]
    captioned = [
        CaptionExample(lambda record=record: _open(record), caption, record.captions, float(score))  # type: ignore[misc]
        for record, caption, score in zip(records, captions, scores, strict=True)
    ]
    page = Page(f"What {run.recipe.name} tells")
    page.add(*([Paragraph(about)] if about else []))
    for name, sheet in caption_sheets(captioned, count=count).items():
        save_image(sheet, out / f"{name}.png")
        page.add(Heading(name.capitalize()), Figure(f"{name}.png", f"{name.capitalize()} captions"))
    places = np.random.default_rng(0).permutation(len(records))[:looks].tolist()
    looked = write_attention_sheets({run.recipe.row or run.recipe.name: (run, images)}, records, places, out)
    if looked:
        page.add(Heading("Where the words were looked for"))
        page.add(*(Figure(sheet.name, "One panel a word: where it was looked for") for sheet in looked))
    page.write(out, "captions")
    return out / "captions.html"


def write_attention_sheets(
    runs: Mapping[str, tuple[Run, ImageInputs]],
    records: Sequence[Record],
    places: Sequence[int],
    out: Path,
    *,
    prefix: str = "",
) -> list[Path]:
    """Write a sheet an image with the attention of each run below the other's: soft above hard (Xu, Figure 3).

    Args:
        runs: by the name they have on the sheet, each with the records' images as it reads them.
        places: which images.
        prefix: what the files' names begin with.
    """
    chosen = np.asarray(places)
    by_run = {name: (run, told_by(run, images, chosen)) for name, (run, images) in runs.items()}
    paths = []
    for number, place in enumerate(places):
        image = _open(records[place])
        told = []
        for name, (run, captions) in by_run.items():
            one = captions[number]
            if one.attention is not None and run.vocabulary is not None and len(one.tokens):
                told.append(AttendedCaption(run.vocabulary.decode(one.tokens.tolist()), one.attention, one.gate, name))
        if told:
            box = next(iter(by_run.values()))[0].preparation.visible_box(image.size)
            paths.append(out / f"{prefix}attention-{Path(records[place].key).stem}.png")
            save_image(attention_sheet(image, told, box=box), paths[-1])
    return paths


def attention_on_things(run: Run, records: Sequence[Record], told: Sequence[Decoded]) -> dict[str, float]:
    """How far the attention of words that name things falls on them, where the dataset knows where they are."""
    assert run.vocabulary is not None
    named = []
    for record, one in zip(records, told, strict=True):
        if record.boxes and one.attention is not None:
            view = run.preparation.visible_box(_open(record).size)
            named += named_things(run.vocabulary.decode(one.tokens.tolist()), one.attention, record.boxes, view)
    return looks_at_what_it_names(named)


def _open(record: Record) -> Image.Image:
    return decode(record.image.read(), name=record.image.name)
