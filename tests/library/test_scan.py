"""Which images are listed, and which folders cannot be."""

import os
import sys
from pathlib import Path

import pytest

from seetell.files import is_below, scan
from seetell.images import is_image_name

links = pytest.mark.skipif(sys.platform == "win32", reason="links need privileges there")


def make(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1234")


def test_images_by_name_however_deep(tmp_path: Path) -> None:
    make(*(tmp_path / each for each in ("a.jpg", "b/c/d.PNG", "notes.txt", ".hidden/e.jpg", "b/._a.jpg", "ü ñ.heic")))
    (tmp_path / "folder.jpg").mkdir()
    found = scan([str(tmp_path)], is_image_name)
    assert {os.path.relpath(each, tmp_path) for each in found.files} == {
        "a.jpg",
        os.path.join("b", "c", "d.PNG"),
        "ü ñ.heic",
    }
    status = (tmp_path / "a.jpg").stat()
    assert found.files[str(tmp_path / "a.jpg")] == (4, status.st_mtime_ns)
    assert not found.problems


@links
def test_loops_end_and_real_paths_win(tmp_path: Path) -> None:
    make(tmp_path / "z" / "real.jpg", tmp_path / "outside" / "linked.jpg")
    root = tmp_path / "z"
    (root / "a").symlink_to(root, target_is_directory=True)
    (root / "b").symlink_to(tmp_path / "outside", target_is_directory=True)
    (tmp_path / "outside" / "back").symlink_to(root, target_is_directory=True)
    found = scan([str(root)], is_image_name)
    assert sorted(found.files) == [str(root / "b" / "linked.jpg"), str(root / "real.jpg")]


@links
def test_links_that_lead_nowhere_and_pipes(tmp_path: Path) -> None:
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nothing.jpg")
    (tmp_path / "self.jpg").symlink_to(tmp_path / "self.jpg")
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe.jpg")
    found = scan([str(tmp_path)], is_image_name)
    assert not found.files
    assert {Path(each.path).name for each in found.problems} == {"gone.jpg", "self.jpg"}


def test_folders_that_cannot_be_read_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "closed" / "a.jpg", tmp_path / "open" / "b.jpg")
    real = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("closed"):  # whoever runs the tests may be allowed everything
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = scan([str(tmp_path)], is_image_name)
    assert list(found.files) == [str(tmp_path / "open" / "b.jpg")]
    assert found.unlisted == [found.problems[0].path] == [str(tmp_path / "closed")]
    assert "Permission denied" in found.problems[0].reason


def test_a_folder_that_cannot_be_listed(tmp_path: Path) -> None:
    found = scan([str(tmp_path / "absent")], is_image_name)
    assert found.unlisted == [found.problems[0].path] == [str(tmp_path / "absent")]


def test_below() -> None:
    folder = os.path.join(os.sep, "a", "b")
    assert is_below(folder, folder)
    assert is_below(os.path.join(folder, "c"), folder)
    assert not is_below(folder + "c", folder)
    assert is_below(folder, os.sep)
