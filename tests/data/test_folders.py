import os
import re
import unicodedata
from pathlib import Path

import pytest

from seetell.data.folders import Folder, normalise_path
from seetell.errors import DatasetError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "photos"
    for name in (
        *("a.jpg", "cats/1.jpg", "dogs/1.jpg", "deep/er/b.PNG", "deep/notes.txt", "train/c.jpg"),
        *("__MACOSX/._a.jpg", ".hidden/d.jpg", "cats/.thumb.jpg"),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("a.jpg", ["a.jpg"]),
        ("./a.jpg", ["a.jpg"]),
        ("cats/1.jpg", ["cats/1.jpg"]),
        ("cats\\1.jpg", ["cats/1.jpg"]),
        ("1.jpg", ["cats/1.jpg", "dogs/1.jpg"]),
        ("b.PNG", ["deep/er/b.PNG"]),
        ("er/b.PNG", ["deep/er/b.PNG"]),
        ("ER/B.png", ["deep/er/b.PNG"]),
        ("photos/a.jpg", ["a.jpg"]),  # the root's own name
        ("A.JPG", ["a.jpg"]),
        ("birds/1.jpg", []),  # never another folder's image of the same name
        ("ats/1.jpg", []),  # nor half a folder's name
        ("d.jpg", []),
        ("nothing.jpg", []),
        ("", []),
    ],
)
def test_matches(root: Path, written: str, found: list[str]) -> None:
    assert Folder(root).matches(written) == [root / name for name in found]


def test_exactly_there_beats_deeper_copies(root: Path) -> None:
    (root / "copies").mkdir()
    (root / "copies" / "a.jpg").touch()
    assert Folder(root).matches("a.jpg") == [root / "a.jpg"]


def test_accents_as_macos_writes_them(tmp_path: Path) -> None:
    (tmp_path / unicodedata.normalize("NFD", "café.jpg")).touch()
    found = Folder(tmp_path).matches(unicodedata.normalize("NFC", "café.jpg"))
    assert [path.exists() for path in found] == [True]


def test_counts_images_and_expects_others_beside_them(root: Path) -> None:
    (root / "train" / "e.jpg").touch()
    folder = Folder(root)
    assert folder.images == 6
    assert folder.expected("absent.jpg") == root / "train" / "absent.jpg"
    assert folder.expected("cats/absent.jpg") == root / "cats" / "absent.jpg"


def test_named_nearest_the_root_first(root: Path) -> None:
    for name in ("deep/er/train.txt", "train.txt", "deep/train.txt", "deep/mytrain.txt"):
        (root / name).touch()
    found = Folder(root).named(re.compile(r"train\.txt"))
    assert found == [root / "train.txt", root / "deep/train.txt", root / "deep/er/train.txt"]


@pytest.mark.skipif(os.name == "nt", reason="making links needs rights on Windows")
def test_links_are_followed_but_not_for_ever(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far.jpg").touch()
    (root / "link").symlink_to(elsewhere)
    (root / "cats" / "loop").symlink_to(root)
    folder = Folder(root)
    assert folder.matches("far.jpg") == [root / "link" / "far.jpg"]
    assert folder.matches("a.jpg") == [root / "a.jpg"]


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such folder"):
        Folder(tmp_path / "absent")


def test_normalise_path() -> None:
    assert normalise_path(" ././a\\b.jpg ") == "a/b.jpg"
