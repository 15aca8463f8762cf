"""The page of a tagging run: the figures of Ren's section 5, and sheets of perfect and wrong examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from seetell.data import Record
from seetell.evaluation.tags import TagAnalysis, analyse
from seetell.figures.page import Figure, Heading, Page, Paragraph
from seetell.figures.sheet import save_image
from seetell.figures.tags import TaggedImage, tag_sheet
from seetell.images import decode
from seetell.learn.tasks.tagging.data import LabelledImages
from seetell.learn.tasks.tagging.decode import TagPredictions
from seetell.learn.tasks.tagging.figures import summary, summary_blocks
from seetell.text import Vocabulary


def write_tag_sheets(
    name: str,
    records: Sequence[Record],
    data: LabelledImages,
    tagged: TagPredictions,
    vocabulary: Vocabulary,
    history: Sequence[Mapping[str, Any]],
    out: Path,
    *,
    count: int = 12,
) -> TagAnalysis:
    """Write `tags.md` and `tags.html` with their images into a folder.

    Args:
        name: of the run.
        records: of the split, in the order of `data`.
        history: of the run's training.
        count: examples per sheet.
    """
    out.mkdir(parents=True, exist_ok=True)
    chosen = np.pad(tagged.chosen, ((0, 0), (0, data.truth.shape[1] - tagged.chosen.shape[1])))
    found = analyse(data.truth, chosen, data.labels)
    scores = tagged.scores(data.truth)
    page = Page(f"{name}: strengths and failures")
    page.add(
        Paragraph(
            f"{found.images:,} images: precision {scores['precision']:.1f}, recall {scores['recall']:.1f}, F1 of "
            f"the two {scores['f1_of_means']:.1f}, mean average precision {scores['map']:.1f}. {len(found.perfect):,} "
            f"images have exactly their labels; for {len(found.wrong):,} every label is wrong."
        ),
        *summary_blocks(summary(found), history, out),
    )
    for kind, images, title in (
        ("perfect", found.perfect, "Perfect predictions (Table 4)"),
        ("wrong", found.wrong, "Completely wrong predictions (Table 5)"),
    ):
        if images:
            shown = [_tagged_image(records[image], tagged.labels(image, vocabulary)) for image in images[:count]]
            save_image(tag_sheet(shown, f"{len(images):,} of {found.images:,} images"), out / f"{kind}.png")
            page.add(Heading(title, 3), Figure(f"{kind}.png", title))
    page.write(out, "tags")
    return found


def _tagged_image(record: Record, predicted: Sequence[str]) -> TaggedImage:
    def opened() -> Image.Image:
        return decode(record.image.read(), name=record.image.name)

    return TaggedImage(opened, record.labels, predicted)
