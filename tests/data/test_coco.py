import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seetell.data.coco import coco
from seetell.errors import DatasetError

Write = Callable[[str, str], Path]
ImageFiles = Callable[..., None]

CATEGORIES = [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}, {"id": 44, "name": "bottle"}]


def images(*numbers: int, prefix: str = "") -> list[dict[str, Any]]:
    return [{"id": number, "file_name": f"{prefix}{number:012d}.jpg", "height": 4, "width": 4} for number in numbers]


def instances(*pairs: tuple[int, int]) -> list[dict[str, Any]]:
    return [
        {"id": 900 + position, "image_id": image, "category_id": category, "segmentation": [[1.5, 2.5]], "area": 1.25}
        for position, (image, category) in enumerate(pairs)
    ]


def captions(*pairs: tuple[int, str]) -> list[dict[str, Any]]:
    return [{"id": 70 + position, "image_id": image, "caption": text} for position, (image, text) in enumerate(pairs)]


def published(*, images: list[dict[str, Any]], annotations: list[Any], categories: bool = False) -> str:
    content: dict[str, Any] = {"info": {"year": 2017}, "images": images, "annotations": annotations}
    return json.dumps(content | ({"categories": CATEGORIES} if categories else {}))


def entry(number: int, split: str, text: str = "A dog .") -> dict[str, Any]:
    where = "val2014" if split in ("val", "test", "restval") else "train2014"
    file = f"COCO_{where}_{number:012d}.jpg"
    return {"filepath": where, "filename": file, "cocoid": number, "split": split, "sentences": [{"raw": text}]}


def test_published_files(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("train2017/000000000001.jpg", "images/val2017/000000000002.jpg")
    train = write(
        "annotations/captions_train2017.json",
        published(
            images=[*images(1, 3), {"id": 4}],
            annotations=[
                *captions((1, "A dog. \n"), (1, " "), (5, "Whose?"), (3, "Missing"), (1, "Twice")),
                *({"id": 70, "image_id": 1, "caption": "A dog."}, {"id": 99, "image_id": 1}, 7),
            ],
        ),
    )
    write("annotations/captions_val2017.json", published(images=images(2), annotations=captions((2, "A cat"))))
    write(
        "annotations/instances_train2017.json",
        published(
            images=images(1, 3), annotations=instances((1, 44), (1, 1), (1, 44), (1, 18), (3, 1)), categories=True
        ),
    )
    dataset = coco(tmp_path)
    assert [(record.key, record.captions, record.labels, record.split) for record in dataset.records] == [
        ("000000000001.jpg", ("A dog.", "Twice"), ("dog", "person", "bottle"), "train"),
        ("000000000003.jpg", ("Missing",), ("person",), "train"),
        ("000000000002.jpg", ("A cat",), (), "val"),
    ]
    assert dataset.classes == ("dog", "person", "bottle")
    assert dataset.label_order() == ["person", "bottle", "dog"]
    assert [record.image.name for record in dataset.records] == [
        str(tmp_path / "train2017/000000000001.jpg"),
        str(tmp_path / "train2017/000000000003.jpg"),
        str(tmp_path / "images/val2017/000000000002.jpg"),
    ]
    assert [entry.where for entry in dataset.skipped] == [
        f"{train}:images[2]",
        *(f"{train}:annotations[{position}]" for position in (1, 2, 5, 6, 7)),
    ]


def test_labels_alone(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("train2014/COCO_train2014_000000000001.jpg")
    write(
        "instances_train2014.json",
        published(images=images(1, prefix="COCO_train2014_"), annotations=instances((1, 1), (1, 99)), categories=True),
    )
    dataset = coco(tmp_path)
    assert [(record.captions, record.labels) for record in dataset.records] == [((), ("person",))]
    assert len(dataset.skipped) == 1


def test_years(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("train2017/000000000001.jpg")
    for year, prefix in ((2014, "COCO_train2014_"), (2017, "")):
        content = published(images=images(1, prefix=prefix), annotations=captions((1, f"In {year}")))
        write(f"annotations/captions_train{year}.json", content)
    assert coco(tmp_path).records[0].captions == ("In 2017",)
    assert "year=2014" in coco(tmp_path).notes[0]
    older = coco(tmp_path, year="2014")
    assert older.records[0].captions == ("In 2014",)
    # The image is there under its name of 2017.
    assert older.records[0].image.name == str(tmp_path / "train2017/000000000001.jpg")
    assert older.notes == ()


def test_karpathy_with_labels(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("train2017/000000000001.jpg", "val2014/COCO_val2014_000000000002.jpg", "train2017/000000000003.jpg")
    entries = [entry(1, "train"), entry(2, "test"), entry(3, "restval"), entry(4, "val")]
    write("dataset_coco.json", json.dumps({"images": entries, "dataset": "coco"}))
    for split, pairs in (("train", [(1, 1), (1, 1)]), ("val", [(2, 18), (9, 18)])):
        write(
            f"annotations/instances_{split}2014.json",
            published(images=images(*{n for n, _ in pairs}), annotations=instances(*pairs), categories=True),
        )
    dataset = coco(tmp_path)
    assert [(record.key[-6:], record.labels, record.split) for record in dataset.records] == [
        ("01.jpg", ("person",), "train"),
        ("02.jpg", ("dog",), "test"),
        ("03.jpg", (), "train"),
        ("04.jpg", (), "val"),
    ]
    assert [Path(record.image.name).is_file() for record in dataset.records] == [True, True, True, False]
    assert dataset.skipped == ()
    assert [record.key[-6:] for record in coco(tmp_path, restval="extra").split("extra")] == ["03.jpg"]
    assert coco(tmp_path, year="2014").split("test") == []


def test_karpathys_tests(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("val2014/COCO_val2014_000000000000.jpg")
    write("dataset_coco.json", json.dumps({"images": [entry(n, "test") for n in range(5000)]}))
    assert len(coco(tmp_path).split("test")) == 5000
    assert len(coco(tmp_path, test="5k").split("test")) == 5000
    short = coco(tmp_path, test="1k")
    assert [record.key for record in short.split("test")] == [f"COCO_val2014_{n:012d}.jpg" for n in range(1000)]
    assert len(short.split("")) == 4000
    assert "1,000 of 5,000" in short.notes[0]


def test_a_test_from_the_validation_images(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("val2017/000000000000.jpg")
    write("captions_val2017.json", published(images=images(*range(1500)), annotations=[]))
    dataset = coco(tmp_path, test="1k")
    assert Counter(record.split for record in dataset.records) == {"val": 500, "test": 1000}
    assert dataset.split("test") == coco(tmp_path, test="1k").split("test")
    assert [record.key for record in dataset.split("test")] != [f"{n:012d}.jpg" for n in range(1000)]
    with pytest.raises(DatasetError, match="5,000 cannot be taken from 1,500"):
        coco(tmp_path, test="5k")


def test_what_cannot_be_read_is_reported(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    for options, words in (
        ({"year": "2015"}, "year=2014 or year=2017"),
        ({"test": "2k"}, "test=1k or test=5k"),
        ({"restval": "no"}, "restval=train or restval=extra"),
        ({}, "no annotations in this folder"),
        ({"year": "2014"}, "no annotations of 2014"),
    ):
        with pytest.raises(DatasetError, match=words):
            coco(tmp_path, **options)
    write("captions_val2017.json", published(images=images(1), annotations=[]))
    with pytest.raises(DatasetError, match=r"no images.*images=FOLDER"):
        coco(tmp_path)
    image_files("val2017/000000000001.jpg")
    write("captions_val2017.json", '{"images": 3}')
    with pytest.raises(DatasetError, match=r"captions_val2017\.json"):
        coco(tmp_path)
