import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seetell.data.flickr30k import flickr30k

Write = Callable[[str, str], Path]
ImageFiles = Callable[..., None]


@pytest.fixture(autouse=True)
def _images(image_files: ImageFiles) -> None:
    image_files(*(f"flickr30k-images/{name}.jpg" for name in (10, 11, 12)))


def test_token_file_and_lists_without_suffixes(write: Write, tmp_path: Path) -> None:
    write("results_20130124.token", "10.jpg#0\tOne .\n10.jpg#1\tUno .\n11.jpg#0\tTwo .\n12.jpg#0\tThree .\n")
    for split, name in (("train", 10), ("val", 11), ("test", 12)):
        write(f"{split}.txt", f"{name}\n")
    dataset = flickr30k(tmp_path)
    assert [(record.key, record.captions, record.split) for record in dataset.records] == [
        ("10.jpg", ("One .", "Uno ."), "train"),
        ("11.jpg", ("Two .",), "val"),
        ("12.jpg", ("Three .",), "test"),
    ]
    assert (dataset.skipped, dataset.notes) == ((), ())


def test_kaggles_bars(write: Write, tmp_path: Path) -> None:
    path = write(
        "results.csv",
        "image_name| comment_number| comment\n"
        '10.jpg| 0| Two guys , " shaggy " hair .\n'
        "10.jpg| 4   A dog runs across the grass .\n"
        "11.jpg| 0| Two .\n",
    )
    dataset = flickr30k(tmp_path)
    assert [(record.key, record.captions) for record in dataset.records] == [
        ("10.jpg", ('Two guys , " shaggy " hair .',)),
        ("11.jpg", ("Two .",)),
    ]
    assert [entry.where for entry in dataset.skipped] == [f"{path}:3"]
    assert "29,000/1,014/1,000" in dataset.notes[0]


def test_a_table_with_its_own_splits(write: Write, tmp_path: Path) -> None:
    write(
        "flickr_annotations_30k.csv",
        "raw,sentids,split,filename,img_id\n"
        '"[""One ."", ""Uno, dos .""]","[0, 1]",train,10.jpg,0\n'
        '"[""Two .""]",[2],val,11.jpg,1\n',
    )
    dataset = flickr30k(tmp_path)
    assert [(record.captions, record.split) for record in dataset.records] == [
        (("One .", "Uno, dos ."), "train"),
        (("Two .",), "val"),
    ]
    assert dataset.notes == (f"images in {tmp_path} without captions: 1",)


def test_karpathy(write: Write, tmp_path: Path) -> None:
    images = [
        {"filename": f"{name}.jpg", "split": split, "sentences": [{"raw": "One ."}]}
        for name, split in ((10, "train"), (11, "val"), (12, "test"))
    ]
    write("dataset_flickr30k.json", json.dumps({"images": images}))
    assert [(record.key, record.split) for record in flickr30k(tmp_path).records] == [
        *(("10.jpg", "train"), ("11.jpg", "val"), ("12.jpg", "test"))
    ]
