"""Atomic writes, folder scans, safe CSV."""

import csv
import io
import os
from pathlib import Path

import pytest

from seetell.errors import DatasetError
from seetell.files import content_hash, csv_row, is_below, replacing, scan, stream_hash, write_file


def jpegs(name: str) -> bool:
    return name.endswith(".jpg")


def write_half(path: Path) -> None:
    with replacing(path) as part:
        part.write_text("half", encoding="utf-8")
        raise RuntimeError("half-way")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    write_file(path, "café\n")
    assert path.read_bytes() == "café\n".encode()
    with pytest.raises(RuntimeError, match="half-way"):
        write_half(path)
    assert path.read_text(encoding="utf-8") == "café\n"
    write_file(path, b"\x00", sync=True)
    assert path.read_bytes() == b"\x00"
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="cannot be written") as caught:
        write_file(tmp_path / "file" / "below", "x", error=DatasetError)
    assert caught.value.where == str(tmp_path / "file" / "below")


def test_formulas_are_text_in_a_spreadsheet() -> None:
    row = ["=1", "+1", "-1", "@x", "\tx", "a,b", 'a"b', "two\nlines", -3, 1.5]
    (read,) = list(csv.reader(csv_row(row, end="\r\n").splitlines(keepends=True)))
    assert read == ["'=1", "'+1", "'-1", "'@x", "'\tx", "a,b", 'a"b', "two\nlines", "-3", "1.5"]


def test_a_scan_finds_wanted_files_once(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.txt", "deep/c.jpg", ".hidden/d.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 3)
    (tmp_path / "deep" / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nowhere")
    found = scan([str(tmp_path)], jpegs)
    assert sorted(os.path.relpath(path, tmp_path) for path in found.files) == ["a.jpg", os.path.join("deep", "c.jpg")]
    assert all(size == 3 for size, _ in found.files.values())
    assert [(os.path.basename(each.path), each.reason) for each in found.problems] == [("gone.jpg", "broken link")]


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    found = scan([str(tmp_path / "none")], jpegs)
    assert (found.files, found.unlisted) == ({}, [str(tmp_path / "none")])
    assert "cannot be read" in found.problems[0].reason


def test_below() -> None:
    assert is_below("/a/b", "/a")
    assert is_below("/a", "/a")
    assert is_below("/a", "/")
    assert not is_below("/ab", "/a")


def test_a_stream_has_the_hash_of_its_content() -> None:
    data = bytes(range(256)) * 10_000  # several chunks
    assert stream_hash(io.BytesIO(data)) == content_hash(data)
    assert len(content_hash(b"")) == 16
