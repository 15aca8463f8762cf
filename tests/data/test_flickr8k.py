import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seetell.data.flickr8k import flickr8k
from seetell.data.records import ImageFile, Record
from seetell.data.splits import by_hash
from seetell.errors import DatasetError

Write = Callable[[str, str], Path]
ImageFiles = Callable[..., None]

TOKENS = (
    "a.jpg#0\tA dog runs .\n"
    "a.jpg#1\tA dog runs .\n"  # two people wrote the same
    "b.jpg#0\tTwo , three cats .\n"
    'c.jpg#0\tA " big " boat .\n'
    "gone.jpg.1#0\tpeople waiting\n"
    "gone.jpg#1\tSome people .\n"
    "d.jpg#0\tA tree .\n"
)
LISTS = {
    "Flickr_8k.trainImages.txt": "a.jpg\n",
    "Flickr_8k.devImages.txt": "b.jpg\n",
    "Flickr_8k.testImages.txt": "c.jpg\n",
}
KARPATHY = {
    "images": [
        {"filename": "a.jpg", "split": "train", "sentences": [{"raw": "A dog runs ."}, {"tokens": ["a", "dog"]}]},
        {"filename": "b.jpg", "split": "val", "sentences": [{"raw": "Two cats ."}, {"raw": " "}]},
        {"filename": "c.jpg", "split": "test", "sentences": []},
        {"split": "test"},
        {"filename": "a.jpg", "split": "train", "sentences": []},
    ],
    "dataset": "flickr8k",
}


@pytest.mark.parametrize(
    ("images", "text"),
    [("Flicker8k_Dataset", "Flickr8k_text"), ("Flickr8k_Dataset/Flicker8k_Dataset", "."), ("images", ".")],
)
def test_as_published(write: Write, image_files: ImageFiles, tmp_path: Path, images: str, text: str) -> None:
    image_files(*(f"{images}/{name}.jpg" for name in "abcd"))
    tokens = write(f"{text}/Flickr8k.token.txt", TOKENS)
    write(f"{text}/Flickr8k.lemma.token.txt", "a.jpg#0\tdog run\n")
    write(f"{text}/ExpertAnnotations.txt", "a.jpg b.jpg#2 1 1 1\n")
    for name, content in LISTS.items():
        write(f"{text}/{name}", content)
    dataset = flickr8k(tmp_path)

    def image(name: str) -> ImageFile:
        return ImageFile(tmp_path / images / name)

    assert dataset.records == (
        Record("a.jpg", image("a.jpg"), ("A dog runs .", "A dog runs ."), split="train"),
        Record("b.jpg", image("b.jpg"), ("Two , three cats .",), split="val"),
        Record("c.jpg", image("c.jpg"), ('A " big " boat .',), split="test"),
        Record("d.jpg", image("d.jpg"), ("A tree .",), split=""),
    )
    assert [(entry.where, entry.reason) for entry in dataset.skipped] == [
        (f"{tokens}:5", "there is no image gone.jpg.1"),
        (f"{tokens}:6", "there is no image gone.jpg"),
    ]
    assert dataset.notes == ()


def test_lines_of_all_kinds(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("images/a.JPG", "images/deep/b.jpg", "images/unnamed.jpg")
    tokens = write(
        "Flickr8k.token.txt",
        "\ufeffa.jpg#0\tOne\r\n\r\na.jpg#0\tOne\r\na.jpg#0\tAnother\r\nb.jpg#0   Two\r\nnonsense\r\nb.jpg#1\t \r\n",
    )
    train = write("Flickr_8k.trainImages.txt", "a.jpg\r\n\r\na.jpg\r\nmissing.jpg\r\n")
    write("Flickr_8k.testImages.txt", "b.jpg\na.jpg\n")
    dataset = flickr8k(tmp_path)
    assert [(record.image.name, record.captions, record.split) for record in dataset.records] == [
        (str(tmp_path / "images/a.JPG"), ("One", "Another"), "test"),
        (str(tmp_path / "images/deep/b.jpg"), ("Two",), "test"),
    ]
    assert [entry.where for entry in dataset.skipped] == [
        *(f"{tokens}:{line}" for line in (3, 6, 7)),
        *(f"{train}:{line}" for line in (1, 3, 4)),  # the first because a.jpg is held out
    ]
    assert dataset.notes == (
        "there is no list of the val images",
        f"images in {tmp_path} without captions: 1",
    )


def test_a_listed_image_that_is_absent_stays_for_the_check(
    write: Write, image_files: ImageFiles, tmp_path: Path
) -> None:
    image_files("images/a.jpg", "images/b.jpg")
    write("Flickr8k.token.txt", TOKENS)
    for name, content in LISTS.items():
        write(name, content)
    dataset = flickr8k(tmp_path)
    assert [record.image.name for record in dataset.split("test")] == [str(tmp_path / "images" / "c.jpg")]
    assert len(dataset.skipped) == 3  # the two of gone.jpg, and d.jpg, which no list asks for


def test_kaggle(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    names = [f"{number}.jpg" for number in range(40)]
    image_files(*(f"Images/{name}" for name in names))
    lines = [f'{name},"A dog , running ."\n{name},A dog , unquoted .\n' for name in names]
    path = write("captions.txt", "image,caption\n" + "".join(lines) + "gone.jpg,Nothing\n")
    dataset = flickr8k(tmp_path)
    assert [record.key for record in dataset.records] == names
    assert {record.captions for record in dataset.records} == {("A dog , running .", "A dog , unquoted .")}
    assert [record.split for record in dataset.records] == [
        by_hash(name, {"train": 6, "val": 1, "test": 1}) for name in names
    ]
    assert [entry.where for entry in dataset.skipped] == [f"{path}:82"]
    assert "6,000/1,000/1,000" in dataset.notes[0]


def test_kaggle_with_the_published_lists(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("Images/a.jpg", "Images/b.jpg", "Images/c.jpg")
    write("captions.txt", "image,caption\na.jpg,One\nb.jpg,Two\nc.jpg,Three\n")
    for name, content in LISTS.items():
        write(name, content)
    assert [record.split for record in flickr8k(tmp_path).records] == ["train", "val", "test"]


def test_kaggle_with_karpathys_splits(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("Images/a.jpg", "Images/b.jpg", "Images/c.jpg")
    write("captions.txt", "image,caption\na.jpg,One\nb.jpg,Two\nc.jpg,Three\n")
    write("dataset_flickr8k.json", json.dumps(KARPATHY))
    dataset = flickr8k(tmp_path)
    assert [record.split for record in dataset.records] == ["train", "val", "test"]
    assert [record.captions for record in dataset.records] == [("One",), ("Two",), ("Three",)]
    assert "dataset_flickr8k.json" in dataset.notes[0]


def test_karpathy_with_images_elsewhere(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("elsewhere/a.jpg", "elsewhere/b.jpg")
    path = write("annotations/dataset_flickr8k.json", json.dumps(KARPATHY))
    dataset = flickr8k(path, images=tmp_path / "elsewhere")
    assert [(record.key, record.captions, record.split) for record in dataset.records] == [
        ("a.jpg", ("A dog runs .", "a dog"), "train"),
        ("b.jpg", ("Two cats .",), "val"),
        ("c.jpg", (), "test"),
    ]
    assert [(entry.where, entry.reason) for entry in dataset.skipped] == [
        (f"{path}:images[1].sentences[1]", "the caption is empty"),
        (f"{path}:images[3]", "there is no file name"),
        (f"{path}:images[4]", "a.jpg is repeated"),
    ]


def test_copies_in_several_folders(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    image_files("Images/a.jpg", "deep/small/a.jpg")
    write("captions.txt", "image,caption\na.jpg,One\n")
    dataset = flickr8k(tmp_path)
    assert dataset.records[0].image.name == str(tmp_path / "Images" / "a.jpg")
    assert "several folders" in dataset.notes[-1]


def test_what_is_not_there_is_said(write: Write, image_files: ImageFiles, tmp_path: Path) -> None:
    write("Flickr8k.token.txt", TOKENS)
    with pytest.raises(DatasetError, match=r"no images.*images=FOLDER"):
        flickr8k(tmp_path)
    (tmp_path / "Flickr8k.token.txt").unlink()
    image_files("images/a.jpg")
    with pytest.raises(DatasetError, match=r"no captions.*Flickr8k\.token\.txt"):
        flickr8k(tmp_path)
    write("dataset_flickr8k.json", "[]")
    with pytest.raises(DatasetError, match="Karpathy"):
        flickr8k(tmp_path)
