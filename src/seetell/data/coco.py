"""MS-COCO: images with about five captions each, and the classes of the objects in them.

Lin et al., *Microsoft COCO: common objects in context*, ECCV 2014; Chen et al., *Microsoft COCO captions*, 2015. Read
from one folder, with the files at any depth:

- `captions_{train,val}{2014,2017}.json` and `instances_{train,val}{2014,2017}.json`, as published; either kind may be
  missing. Each image has a class once, however many such objects it shows, in the order of the categories.
- `dataset_coco.json`, Karpathy's captions and splits, used if the file exists and no year is given; labels still come
  from `instances_*.json`.
- the images, in `train2014`, `val2014`, `train2017`, `val2017`. The years have the same images under different names
  (`COCO_val2014_000000391895.jpg`, `000000391895.jpg`): if one is missing, the other is used.

Parameters of `coco:PATH?…`:

- `year=2014` or `2017` selects the published files; 2017 by default.
- `test`: with Karpathy's splits, `5k` (the default) is all 5,000 test images, and `1k` the first 1,000 of them; the
  others are then in no split. The published files have no test captions: there, `1k` and `5k` move that many
  validation images, chosen by the hash of their names, to the test split.
- `restval=extra` moves Karpathy's `restval` images to the split "extra"; by default they are in the training split, as
  is usual.
- `images=FOLDER`: the folder of the images, if they are not below PATH.
"""

import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from seetell.data.dataset import Dataset, Skipped
from seetell.data.files import clean_caption, read_json
from seetell.data.folders import Folder
from seetell.data.karpathy import read_karpathy
from seetell.data.records import ImageFile, Record
from seetell.data.splits import normalise, stricter
from seetell.errors import DatasetError

_PUBLISHED = re.compile(r"(captions|instances)_(train|val)(2014|2017)\.json")
_KARPATHY = re.compile(r"dataset_coco\.json", re.IGNORECASE)
_IMAGE = re.compile(r"(?:COCO_(?:train|val)2014_)?(\d{12})\.jpg", re.IGNORECASE)
_TESTS = {"1k": 1000, "5k": 5000}
_UNLISTED = "the file does not list its image"


@dataclass(slots=True)
class _Draft:
    file: str
    folder: str  # where the image is expected: train2017
    split: str
    captions: list[str] = field(default_factory=list)
    classes: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Reading:
    """What has been read so far; images by COCO id, which is the same in all years and in Karpathy's file."""

    drafts: dict[int, _Draft] = field(default_factory=dict)
    classes: dict[int, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def coco(path: Path, *, images: Path | None = None, year: str = "", test: str = "", restval: str = "train") -> Dataset:
    """Read COCO from its folder.

    Args:
        path: the folder, or a file in it.
        images: the folder of the images, if they are elsewhere.
        year: "2014" or "2017"; Karpathy's splits, or else the latest year, by default.
        test: "1k" or "5k"; see the module.
        restval: "train" or "extra".
    """
    _choose("year", year, ("", "2014", "2017"))
    _choose("test", test, ("", *_TESTS))
    _choose("restval", restval, ("train", "extra"))
    folder = Folder(path if path.is_dir() else path.parent)
    image_folder = Folder(images) if images else folder
    published = _published(folder)
    karpathy = [] if year else folder.named(_KARPATHY)
    reading = _Reading()
    if karpathy:
        _read_karpathy(karpathy[0], reading, restval)
        _shorten_test(reading, _TESTS[test or "5k"])
        # Both years have the same labels of the same images: one of them is enough.
        instances = [[file for file in files if file.name.startswith("instances")] for files in published.values()]
        for file in max(instances, key=len, default=[]):
            _read_published(file, reading, split=None)
    else:
        chosen = year or max(published, default="")
        if chosen not in published:
            raise DatasetError(
                f"there are no annotations{f' of {year}' if year else ''} in this folder",
                where=str(folder.root),
                remedy="Expected captions_train2017.json, instances_train2017.json and so on"
                + ("" if year else ", or dataset_coco.json"),
            )
        for file in published[chosen]:
            _read_published(file, reading, split="train" if "train" in file.name else "val")
        if len(published) > 1 and not year:
            reading.notes.append(f"the annotations of {chosen} are used; year={min(published)} selects the others")
        if test:
            _make_test(reading, _TESTS[test], str(path))
    if not image_folder.images:
        raise DatasetError(
            "there are no images in this folder",
            where=str(image_folder.root),
            remedy=f"Give their folder: coco:{path}?images=FOLDER",
        )
    return _dataset(reading, image_folder)


def _choose(parameter: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        named = " or ".join(f"{parameter}={choice}" for choice in choices if choice)
        raise DatasetError(f"{parameter}={value} is not known", where="coco", remedy=f"Choose {named}")


def _published(folder: Folder) -> dict[str, list[Path]]:
    """The published annotation files of each year; of several copies, the one nearest to the root."""
    found: dict[str, dict[str, Path]] = {}
    for path in folder.named(_PUBLISHED):
        if match := _PUBLISHED.fullmatch(path.name):
            found.setdefault(match[3], {}).setdefault(path.name, path)
    return {year: [files[name] for name in sorted(files)] for year, files in found.items()}


def _keep(entry: dict[str, Any]) -> Any:
    """What is needed of an object in a published file: outlines make up 90% of instances_train2017.json."""
    if "image_id" in entry:
        return entry["image_id"], entry.get("category_id"), entry.get("caption"), entry.get("id")
    if "file_name" in entry:
        return entry.get("id"), entry["file_name"]
    return entry


def _read_published(path: Path, reading: _Reading, *, split: str | None) -> None:
    """Add a published file; without a split, only the annotations of images that are already known."""
    content = read_json(path, keep=_keep)
    images, annotations, categories = (
        content.get(key) if isinstance(content, dict) else None for key in ("images", "annotations", "categories")
    )
    if not isinstance(images, list) or not isinstance(annotations, list):
        raise DatasetError('it has no lists "images" and "annotations"', where=str(path))
    for category in categories if isinstance(categories, list) else ():
        match category:
            case {"id": int(number), "name": str(name)}:
                reading.classes.setdefault(number, name)
    if split is not None:
        _add_images(path, images, reading, split)
    seen: set[int] = set()
    for position, annotation in enumerate(annotations):
        reason = _add_annotation(annotation, reading, seen)
        if reason and (split is not None or reason != _UNLISTED):
            reading.skipped.append(Skipped(f"{path}:annotations[{position}]", reason))


def _add_images(path: Path, images: list[Any], reading: _Reading, split: str) -> None:
    folder = path.stem.partition("_")[2]
    for position, image in enumerate(images):
        where = f"{path}:images[{position}]"
        match image:
            case (int(number), str(file)):
                draft = reading.drafts.setdefault(number, _Draft(file, folder, split))
                if draft.split != split:
                    draft.split = stricter(draft.split, split)
                    reading.skipped.append(Skipped(where, f"{file} is in train and in val; {draft.split} is kept"))
            case _:
                reading.skipped.append(Skipped(where, "it has no id or no file name"))


def _add_annotation(annotation: Any, reading: _Reading, seen: set[int]) -> str:
    """Add a caption, or the class of an object; returns why it was skipped, or "" if it was not."""
    match annotation:
        case (int(number), _, _, int(_)) if number not in reading.drafts:
            return _UNLISTED
        case (int(number), _, str(caption), int(identity)):
            if identity in seen:
                return f"annotation {identity} is repeated"
            seen.add(identity)
            if not clean_caption(caption):
                return "the caption is empty"
            reading.drafts[number].captions.append(clean_caption(caption))
        case (int(number), int(category), _, int(_)) if category in reading.classes:
            reading.drafts[number].classes.add(category)
        case _:
            return "it has neither a caption nor a known category"
    return ""


def _read_karpathy(path: Path, reading: _Reading, restval: str) -> None:
    entries, skipped = read_karpathy(path)
    reading.skipped += skipped
    for position, entry in enumerate(entries):
        match = _IMAGE.fullmatch(entry.file)
        number = entry.coco_id if entry.coco_id is not None else int(match[1]) if match else -1 - position
        split = restval if entry.split == "restval" else normalise(entry.split)
        reading.drafts[number] = _Draft(entry.file, entry.folder, split, list(entry.captions))


def _shorten_test(reading: _Reading, count: int) -> None:
    """Keep the first `count` test images in the test split, and move the others to none."""
    tests = [draft for draft in reading.drafts.values() if draft.split == "test"]
    for draft in tests[count:]:
        draft.split = ""
    if len(tests) > count:
        reading.notes.append(f"the first {count:,} of {len(tests):,} test images are the test split")


def _make_test(reading: _Reading, count: int, where: str) -> None:
    """Move `count` validation images, those whose names have the lowest hashes, to the test split."""
    held_out = [draft for draft in reading.drafts.values() if draft.split == "val"]
    if len(held_out) <= count:
        raise DatasetError(
            f"a test of {count:,} cannot be taken from {len(held_out):,} validation images",
            where=where,
            remedy="Choose test=1k, year=2014, or add Karpathy's dataset_coco.json to the folder",
        )
    for draft in sorted(held_out, key=lambda draft: sha256(draft.file.encode("utf-8", "surrogatepass")).digest())[
        :count
    ]:
        draft.split = "test"
    reading.notes.append(f"the published files have no test captions: {count:,} validation images are the test split")


def _dataset(reading: _Reading, images: Folder) -> Dataset:
    order = {number: position for position, number in enumerate(reading.classes)}
    records = []
    for draft in reading.drafts.values():
        labels = tuple(reading.classes[number] for number in sorted(draft.classes, key=order.__getitem__))
        image = ImageFile(_find(draft, images))
        records.append(Record(draft.file, image, tuple(draft.captions), labels, draft.split))
    classes = tuple(reading.classes.values())
    return Dataset("coco", tuple(records), tuple(reading.skipped), classes, tuple(reading.notes))


def _find(draft: _Draft, images: Folder) -> Path:
    """The image file: in the folder that the annotations name, else anywhere, else under its name in the other year."""
    names = [draft.file]
    if match := _IMAGE.fullmatch(draft.file):
        names += [f"{match[1]}.jpg", f"COCO_train2014_{match[1]}.jpg", f"COCO_val2014_{match[1]}.jpg"]
    for written in (f"{draft.folder}/{draft.file}", *names):
        if found := images.matches(written):
            return found[0]
    return images.expected(f"{draft.folder}/{draft.file}")
