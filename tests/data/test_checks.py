import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seetell.data import Dataset, ImageFile, Record, Skipped, check
from seetell.data.checks import CountRange, SplitCount
from seetell.progress import Event, Progress

ImageFiles = Callable[..., None]


@pytest.fixture
def dataset(image_files: ImageFiles, tmp_path: Path) -> Dataset:
    """Six images: one damaged, one absent, one twice in its split, one in two splits and in none."""
    image_files("a.png", "b.png")
    (tmp_path / "a again.png").write_bytes((tmp_path / "a.png").read_bytes())
    for copy in ("b held out.png", "b in none.png"):
        (tmp_path / copy).write_bytes((tmp_path / "b.png").read_bytes())
    (tmp_path / "cut.png").write_bytes((tmp_path / "b.png").read_bytes()[:45])

    def record(name: str, split: str, captions: tuple[str, ...] = (), labels: tuple[str, ...] = ()) -> Record:
        return Record(name, ImageFile(tmp_path / name), captions, labels, split)

    return Dataset(
        "mine",
        (
            record("a.png", "train", ("one dog", "two dogs"), ("dog",)),
            record("a again.png", "train", ("one dog",), ("ball", "dog")),
            record("b.png", "train", ("one cat",)),
            record("b held out.png", "test", ("a new word",)),
            record("b in none.png", ""),
            record("cut.png", "val"),
            record("absent.png", "val"),
        ),
        (Skipped("mine.csv:7", "there is no file name"),),
        ("ball", "dog", "kite"),
        ("a note",),
    )


def test_counts(dataset: Dataset) -> None:
    report = check(dataset)
    assert report.splits == (
        SplitCount("train", 3, 4, 3, 1),
        SplitCount("val", 2, 0, 0, 0),
        SplitCount("test", 1, 1, 0, 0),
        SplitCount("", 1, 0, 0, 0),
    )
    assert report.images == 7
    assert report.captions == CountRange(0, 5 / 7, 2)
    assert report.labels == CountRange(0, 3 / 7, 2)
    assert report.classes == 3
    assert report.training_vocabulary == len({"one", "dog", "two", "dogs", "cat"})
    assert report.vocabulary == 5 + len({"a", "new", "word"})
    assert report.usable


def test_what_is_wrong_with_images(dataset: Dataset, tmp_path: Path) -> None:
    report = check(dataset)
    assert [entry.where for entry in report.unreadable] == [str(tmp_path / "cut.png"), str(tmp_path / "absent.png")]
    assert "no such file" in report.unreadable[1].reason
    assert report.in_two_splits == ((("train", str(tmp_path / "b.png")), ("test", str(tmp_path / "b held out.png"))),)


def test_without_images_nothing_is_read(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "read", None)
    report = check(dataset, images=False)
    assert (report.unreadable, report.in_two_splits, report.images_read) == ((), (), False)
    assert {split.duplicates for split in report.splits} == {None}
    assert report.usable
    assert "images: not read" in report.lines()


def test_progress(dataset: Dataset) -> None:
    events: list[Event] = []
    check(dataset, progress=Progress(events.append))
    assert [event.done for event in events] == [1, 2, 3, 4, 5, 6, 7, 7]
    assert events[-1].finished
    assert events[-1].note == "2 unreadable"


def test_the_text_names_everything(dataset: Dataset, tmp_path: Path) -> None:
    text = "\n".join(check(dataset).lines())
    for words in (
        "mine: 7 images, 5 captions",
        "3 images (1 duplicate), 4 captions, 3 labels",
        "captions per image: 0 to 2, 0.71 on average",
        "5 words in the training split, 8 in all",
        "3 classes",
        "a note",
        "unreadable or missing images: 2",
        f"{tmp_path / 'absent.png'}: there is no such file",
        "images in two splits: 1",
        "lines skipped: 1",
        "mine.csv:7: there is no file name",
    ):
        assert words in text
    assert "Nothing usable" not in text


def test_long_lists_are_cut_unless_all_is_asked_for() -> None:
    skipped = tuple(Skipped(f"a.csv:{line}", "bad") for line in range(50))
    report = check(Dataset("mine", (), skipped))
    assert sum("a.csv:" in line for line in report.lines()) == 20
    assert "  … and 30 more" in report.lines()
    assert sum("a.csv:" in line for line in report.lines(shown=None)) == 50


def test_json_holds_everything(dataset: Dataset, tmp_path: Path) -> None:
    content = json.loads(json.dumps(check(dataset).to_json()))
    assert (content["dataset"], content["usable"], content["images"], content["captions"]) == ("mine", True, 7, 5)
    assert content["splits"][0] == {"split": "train", "images": 3, "captions": 4, "labels": 3, "duplicates": 1}
    assert content["captions_per_image"] == {"minimum": 0, "mean": 5 / 7, "maximum": 2}
    assert content["vocabulary"] == {"train": 5, "all": 8}
    assert content["unreadable"][1]["image"] == str(tmp_path / "absent.png")
    assert [each["split"] for each in content["in_two_splits"][0]] == ["train", "test"]
    assert content["skipped"] == [{"where": "mine.csv:7", "reason": "there is no file name"}]
    assert content["notes"] == ["a note"]


def test_nothing_usable(dataset: Dataset) -> None:
    assert not check(Dataset("empty", ())).usable
    bad = Dataset("bad", tuple(record for record in dataset.records if record.split == "val"))
    report = check(bad)
    assert not report.usable
    assert list(report.lines())[-1] == "Nothing usable is left."
    absent = check(Dataset("absent", dataset.records[-1:]))
    assert "?images=FOLDER" in list(absent.lines())[-1]
