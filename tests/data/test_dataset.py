from pathlib import Path

import pytest

from seetell.data import Dataset, ImageFile, Record, Skipped, union
from seetell.errors import DatasetError, ImageError


def record(file: str, split: str, *labels: str, key: str = "") -> Record:
    return Record(key or file, ImageFile(Path("photos") / file), labels=labels, split=split)


def test_split_and_label_order() -> None:
    dataset = Dataset(
        "mine",
        (
            record("a", "train", "dog", "cat"),
            record("b", "train", "dog", "bird"),
            record("c", "val", "fish", "cat", "cat"),
            record("d", ""),
        ),
    )
    assert [each.key for each in dataset.split("train")] == ["a", "b"]
    assert [each.key for each in dataset.split("")] == ["d"]
    assert dataset.label_order() == ["dog", "bird", "cat"]
    assert dataset.label_order("val") == ["cat", "fish"]


def test_the_union_of_one_is_itself() -> None:
    dataset = Dataset("mine", (record("a", "train"),))
    assert union([dataset]) is dataset
    with pytest.raises(DatasetError):
        union([])


def test_keys_that_collide_are_told_apart() -> None:
    first = Dataset(
        "photos", (record("a", "train"), record("b", "train")), (Skipped("x:1", "bad"),), ("dog",), ("note",)
    )
    second = Dataset("photos", (record("other/a", "train", key="a"), record("c", "val")), (), ("cat", "dog"))
    both = union([first, second])
    assert both.name == "photos+photos-2"
    assert [each.key for each in both.records] == ["photos/a", "b", "photos-2/a", "c"]
    assert both.classes == ("dog", "cat")
    assert both.skipped == (Skipped("x:1", "bad"),)
    assert both.notes == ("photos: note",)


def test_a_held_out_image_is_never_trained_on() -> None:
    files = ("trained", "tested", "validated", "none", "both")
    first = Dataset("first", tuple(map(record, files, ("train", "test", "val", "test", "train"))))
    second = Dataset(
        "second",
        tuple(
            Record(f"2-{file}", ImageFile(Path("photos/../photos") / file), split=split)
            for file, split in zip(files, ("test", "extra", "test", "", "train"), strict=True)
        ),
    )
    for both in (union([first, second]), union([second, first])):
        assert {(each.key, each.split) for each in both.records} == {
            ("2-trained", "test"),
            ("tested", "test"),
            ("2-validated", "test"),
            ("none", "test"),
            ("2-none", ""),
            ("both", "train"),
            ("2-both", "train"),
        }
        assert len(both.skipped) == 3
        reasons = {Path(entry.where).name: entry.reason for entry in both.skipped}
        assert reasons["trained"] == "held out as test in second, so not used as train from first"
        assert reasons["tested"] == "held out as test in first, so not used as extra from second"


def test_an_image_that_cannot_be_read(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "absent.jpg", "no such file"),
        (tmp_path, "not a file"),
        (Path("nul\0l"), "cannot be read"),
    ):
        with pytest.raises(ImageError, match=words) as error:
            ImageFile(path).read()
        assert error.value.where == str(path)
