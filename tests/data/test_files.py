from collections.abc import Callable
from pathlib import Path

import pytest

from seetell.data.files import clean_caption, read_json, read_lines, read_text
from seetell.errors import DatasetError

Write = Callable[[str, str], Path]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_spreadsheets_write(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("file,caption\r\nä.jpg,naïve\r\n".encode(encoding))
    assert read_lines(path) == ["file,caption", "ä.jpg,naïve", ""]


def test_only_line_ends_end_lines(write: Write) -> None:
    assert read_lines(write("a.txt", "one\u2028still\x0bone\r\ntwo\rthree\n")) == [
        *("one\u2028still\x0bone", "two", "three", "")
    ]


def test_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("file,caption\na.jpg,plain\nb.jpg,café\n".encode("cp1252"))
    with pytest.raises(DatasetError) as error:
        read_text(path)
    assert error.value.where == f"{path}:3"
    assert "0xE9" in error.value.problem
    assert "UTF-8" in error.value.remedy


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no such file"):
        read_text(tmp_path / "absent.txt")
    with pytest.raises(DatasetError, match="cannot be read"):
        read_text(tmp_path)


def test_broken_json_is_named_with_its_line(write: Write) -> None:
    path = write("a.json", '{"images": [\n1,\n2,,\n]}')
    with pytest.raises(DatasetError) as error:
        read_json(path)
    assert error.value.where == f"{path}:3"


def test_json_too_deep(write: Write) -> None:
    with pytest.raises(DatasetError):
        read_json(write("a.json", "[" * 100_000))


def test_keep_replaces_objects(write: Write) -> None:
    path = write("a.json", '{"list": [{"id": 1, "outline": [1.5, 2.5]}, {"id": 2}]}')
    assert read_json(path, keep=lambda entry: entry.get("id", entry)) == {"list": [1, 2]}


def test_clean_caption() -> None:
    assert clean_caption(" A dog\n runs \t. ") == "A dog runs ."
