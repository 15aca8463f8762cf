from collections.abc import Callable
from pathlib import Path

import pytest

from seetell.data import open_dataset
from seetell.errors import DatasetError

Write = Callable[[str, str], Path]
ImageFiles = Callable[..., None]


def problem(spec: str) -> str:
    with pytest.raises(DatasetError) as error:
        open_dataset(spec)
    return str(error.value)


def test_each_kind(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("8k/images/a.jpg", "30k/images/b.jpg", "coco/train2017/000000000001.jpg")
    write("8k/Flickr8k.token.txt", "a.jpg#0\tOne\n")
    write("30k/results.token", "b.jpg#0\tOne\n")
    write("coco/captions_train2017.json", '{"images": [{"id": 1, "file_name": "000000000001.jpg"}], "annotations": []}')
    table = write("mine.csv", "file,split\na.jpg,train\n")
    for spec, name in (
        (f"flickr8k:{tmp_path / '8k'}", "flickr8k"),
        (f"flickr30k:{tmp_path / '30k'}", "flickr30k"),
        (f"coco:{tmp_path / 'coco'}?year=2017&restval=extra", "coco"),
        (f"table:{table}", "mine"),
        ("scenes:1", "scenes"),
    ):
        dataset = open_dataset(spec)
        assert dataset.name == name
        assert len(dataset.records) == 1


def test_where_the_images_are(
    write: Write, image_files: ImageFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image_files("tables/R&D/a.jpg", "here/a.jpg")
    table = write("tables/mine.csv", "file,split\na.jpg,train\n")
    assert open_dataset(f"table:{table}?images=R&D").records[0].image.name == str(tmp_path / "tables/R&D/a.jpg")
    monkeypatch.chdir(tmp_path)
    assert open_dataset("table:tables/mine.csv?images=here").records[0].image.name == str(Path("here/a.jpg"))
    assert "absent" in problem(f"table:{table}?images=absent")


def test_a_question_mark_in_a_path(write: Write, tmp_path: Path) -> None:
    try:
        table = write("what?.csv", "file,split\na.jpg,train\n")
    except OSError:
        pytest.skip("this file system has no question marks")
    assert len(open_dataset(f"table:{table}").records) == 1


def test_scenes_take_a_seed() -> None:
    assert open_dataset("scenes:3?seed=1").records == open_dataset("scenes:3?seed=1").records
    assert open_dataset("scenes:3?seed=1").records != open_dataset("scenes:3?seed=2").records
    assert "scenes:2000" in problem("scenes:many")
    assert "seed" in problem("scenes:3?seed=x")


def test_a_limit_takes_a_fair_and_steady_sample_of_each_split(write: Write) -> None:
    rows = [f"{number}.jpg,{'val' if number % 4 == 0 else 'train'}" for number in range(40)]
    more = [*rows, *(f"{number}.jpg,train" for number in range(40, 50))]
    few, many = write("few.csv", "\n".join(["file,split", *rows])), write("many.csv", "\n".join(["file,split", *more]))
    dataset = open_dataset(f"table:{few}?limit=6")
    assert [len(dataset.split(name)) for name in ("train", "val")] == [6, 6]
    assert [record.key for record in dataset.split("train")] != [f"{number}.jpg" for number in (1, 2, 3, 5, 6, 7)]
    assert "28 images left out" in dataset.notes[-1]
    same = [record.key for record in open_dataset(f"table:{many}?limit=6").split("val")]
    assert [record.key for record in dataset.split("val")] == same
    assert len(open_dataset(f"table:{few}?limit=30").split("train")) == 30
    assert "limit is 0" in problem(f"table:{few}?limit=0")


def test_extra_images_may_be_trained_on(write: Write) -> None:
    table = write("mine.csv", "file,split\na.jpg,train\nb.jpg,extra\nc.jpg,test\n")
    assert [record.split for record in open_dataset(f"table:{table}").records] == ["train", "extra", "test"]
    assert [record.split for record in open_dataset(f"table:{table}?extra=train").records] == ["train", "train", "test"]
    assert "extra=train" in problem(f"table:{table}?extra=yes")


def test_drive_letters_survive() -> None:
    assert problem(r"flickr8k:Q:\data\flickr8k").startswith(r"Q:\data\flickr8k: there is no such")
    assert problem(r"table:Q:\data\mine.csv?images=Q:\data").startswith(r"Q:\data\mine.csv: there is no such")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("flickr8:data", "Did you mean 'flickr8k'?"),
        ("Flickr8k:data", "Did you mean 'flickr8k'?"),
        ("imagenet:data", "Choose one of: flickr8k, flickr30k, coco"),
        ("data/flickr8k", "does not name a kind"),
        ("table:absent.csv", "absent.csv: there is no such file"),
        ("flickr8k:", "flickr8k:: there is no such folder"),
        ("coco:.?yaer=2017", "Did you mean 'year'?"),
        ("flickr8k:.?test=1k", "Choose one of: images, limit"),
        ("coco:.?year=", "year has no value"),
        ("coco:.?1k", "'1k' is not a parameter of coco"),
    ],
)
def test_mistakes_are_explained(spec: str, words: str) -> None:
    assert words in problem(spec)


def test_a_table_without_its_kind(write: Write) -> None:
    path = write("mine.csv", "file\na.jpg\n")
    assert f"table:{path}" in problem(str(path))
