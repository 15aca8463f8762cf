from collections.abc import Callable
from pathlib import Path

import pytest

from seetell.data.records import ImageFile, Record
from seetell.data.splits import by_hash
from seetell.data.table import table

Write = Callable[[str, str], Path]
ImageFiles = Callable[..., None]


def test_rows_of_one_image_are_merged(write: Write, tmp_path: Path) -> None:
    path = write(
        "mine.csv",
        "file,split,caption,labels\n"
        "b.jpg,train,One dog,dog;animal\n"
        "a.jpg,validation,A cat,cat\n"
        "./b.jpg,train,Two dogs,dog;ball\n"
        "b.jpg,train,One dog,dog;animal\n",
    )
    dataset = table(path)
    assert dataset.name == "mine"
    assert dataset.records == (
        Record(*("b.jpg", ImageFile(tmp_path / "b.jpg"), ("One dog", "Two dogs"), ("animal", "ball", "dog"), "train")),
        Record("a.jpg", ImageFile(tmp_path / "a.jpg"), ("A cat",), ("cat",), "val"),
    )
    assert dataset.classes == ("animal", "ball", "cat", "dog")
    assert [(entry.where, entry.reason) for entry in dataset.skipped] == [(f"{path}:5", "repeats line 2")]
    assert dataset.notes == ()


def test_an_image_that_two_splits_claim_is_held_out(write: Write) -> None:
    path = write(
        "a.csv",
        "file,split,caption\na.jpg,train,One\na.jpg,test,Two\nb.jpg,test,One\nb.jpg,extra,Two\nc.jpg,,1\nc.jpg,train,2",
    )
    dataset = table(path)
    assert {record.key: record.split for record in dataset.records} == {
        "a.jpg": "test",
        "b.jpg": "test",
        "c.jpg": "train",
    }
    assert all(record.captions and len(record.captions) == 2 for record in dataset.records)
    assert [entry.where for entry in dataset.skipped] == [f"{path}:3", f"{path}:5"]


def test_without_a_split_column_the_hash_decides(write: Write) -> None:
    path = write("a.csv", "file\n" + "".join(f"{number}.jpg\n" for number in range(50)))
    dataset = table(path)
    shares = {"train": 8, "val": 1, "test": 1}
    assert [record.split for record in dataset.records] == [by_hash(f"{n}.jpg", shares) for n in range(50)]
    assert len({record.split for record in dataset.records}) == 3
    assert "80/10/10" in dataset.notes[0]


def test_images_are_found_in_the_folder_then_beside_the_table(
    write: Write, image_files: ImageFiles, tmp_path: Path
) -> None:
    image_files(
        "photos/a.jpg", "photos/deep/b.JPG", "tables/c.jpg", "photos/x/1.jpg", "photos/y/1.jpg", "photos/rest.jpg"
    )
    absolute = tmp_path / "tables" / "c.jpg"
    path = write("tables/t.csv", f"file,split\na.jpg,train\nb.jpg,\nc.jpg,\nx\\1.jpg,\n1.jpg,\nd.jpg,\n{absolute},\n")
    dataset = table(path, images=tmp_path / "photos")
    assert [record.image.name for record in dataset.records] == [
        str(tmp_path / name)
        for name in (
            "photos/a.jpg",
            "photos/deep/b.JPG",
            "tables/c.jpg",
            "photos/x/1.jpg",
            "photos/d.jpg",
            "tables/c.jpg",
        )
    ]
    (ambiguous,) = dataset.skipped
    assert ambiguous.where == f"{path}:6"
    assert "x, y" in ambiguous.reason
    assert dataset.notes == (f"images in {tmp_path / 'photos'} that are not in the table: 2",)


def test_opening_does_not_ask_for_each_image(
    write: Write, image_files: ImageFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image_files(*(f"photos/{number}.jpg" for number in range(20)))
    path = write("t.csv", "file,split\n" + "".join(f"{number}.jpg,train\n" for number in range(20)))
    asked: list[Path] = []
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda self, **options: (asked.append(self), stat(self, **options))[1])
    assert len(table(path, images=tmp_path / "photos").records) == 20
    assert not [each for each in asked if each.suffix == ".jpg"]


def test_columns_that_say_nothing_are_named(write: Write) -> None:
    assert table(write("a.csv", "file,split,url,size\na.jpg,train,x,3\n")).notes == ("columns not used: url, size",)
