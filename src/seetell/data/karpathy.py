"""Karpathy's `dataset_flickr8k.json`, `dataset_flickr30k.json`, `dataset_coco.json`: captions and splits in one file.

Karpathy & Fei-Fei, *Deep visual-semantic alignments for generating image descriptions*, CVPR 2015.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seetell.data.dataset import Skipped
from seetell.data.files import clean_caption, read_json
from seetell.errors import DatasetError


@dataclass(frozen=True, slots=True)
class Entry:
    """An image of the file; `split` is as written there (`restval` included), `folder` and `coco_id` are for COCO."""

    where: str
    file: str
    split: str
    captions: tuple[str, ...]
    folder: str = ""
    coco_id: int | None = None


def read_karpathy(path: Path) -> tuple[list[Entry], list[Skipped]]:
    """Read one of Karpathy's files: its images, and the entries that were skipped."""
    content = read_json(path)
    images = content.get("images") if isinstance(content, dict) else None
    if not isinstance(images, list):
        raise DatasetError(
            'this is not one of Karpathy\'s files: it has no list "images"',
            where=str(path),
            remedy="Their names are dataset_flickr8k.json, dataset_flickr30k.json and dataset_coco.json",
        )
    entries: dict[str, Entry] = {}
    skipped: list[Skipped] = []
    for number, image in enumerate(images):
        where = f"{path}:images[{number}]"
        file = image.get("filename") if isinstance(image, dict) else None
        if not isinstance(file, str) or not file:
            skipped.append(Skipped(where, "there is no file name"))
            continue
        if file in entries:
            skipped.append(Skipped(where, f"{file} is repeated"))
            continue
        captions = []
        sentences = image.get("sentences")
        for position, sentence in enumerate(sentences if isinstance(sentences, list) else []):
            caption = _caption(sentence)
            if caption:
                captions.append(caption)
            else:
                skipped.append(Skipped(f"{where}.sentences[{position}]", "the caption is empty"))
        coco_id = image.get("cocoid")
        entries[file] = Entry(
            where,
            file,
            str(image.get("split") or ""),
            tuple(captions),
            str(image.get("filepath") or ""),
            coco_id if isinstance(coco_id, int) else None,
        )
    return list(entries.values()), skipped


def _caption(sentence: Any) -> str:
    """A sentence as it was written, or its tokens in copies of the file without raw text."""
    if not isinstance(sentence, dict):
        return ""
    raw, tokens = sentence.get("raw"), sentence.get("tokens")
    if isinstance(raw, str):
        return clean_caption(raw)
    return clean_caption(" ".join(map(str, tokens))) if isinstance(tokens, list) else ""
