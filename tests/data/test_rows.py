import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seetell.data.files import clean_caption
from seetell.data.rows import TableRow, _fields, read_rows
from seetell.errors import DatasetError

Write = Callable[[str, str], Path]


def captions(path: Path) -> dict[int, tuple[str, ...]]:
    rows, _, _ = read_rows(path)
    return {row.line: row.captions for row in rows}


def test_commas_quotes_and_line_ends_in_captions(write: Write) -> None:
    path = write(
        "a.csv",
        'file,caption,split\r\na.jpg,"One, two",train\r\n\r\nb.jpg,"A ""big""\r\ndog",dev\r\nc.jpg,plain,test\r\n',
    )
    rows, skipped, _ = read_rows(path)
    assert rows == [
        TableRow(2, "a.jpg", "train", ("One, two",), ()),
        TableRow(4, "b.jpg", "val", ('A "big" dog',), ()),
        TableRow(6, "c.jpg", "test", ("plain",), ()),
    ]
    assert skipped == []


def test_a_stray_quotation_mark_costs_nothing_else(write: Write) -> None:
    path = write("a.csv", 'file,caption\na.jpg,"never closed\nb.jpg,a " mark\nc.jpg,"Penzance" stone\nd.jpg,plain\n')
    assert captions(path) == {2: ('"never closed',), 3: ('a " mark',), 4: ('"Penzance" stone',), 5: ("plain",)}


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(text, min_size=2, max_size=4), min_size=1, max_size=6), st.sampled_from(",\t;|"))
def test_fields_are_those_that_the_csv_module_wrote(table: list[list[str]], delimiter: str) -> None:
    # Line ends within a field come back as line feeds: captions are put on one line anyway.
    table = [[field.replace("\r\n", "\n").replace("\r", "\n") for field in row] for row in table]
    table = [row for row in table if any(field.strip() for field in row)]
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    lines = written.getvalue().split("\n")
    assert [fields for _, fields in _fields(lines, 0, delimiter)] == table


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "file;caption\na.jpg;A dog, running\n"),
        ("a.csv", "file\tcaption\na.jpg\tA dog, running\n"),
        ("a.tsv", "file\tcaption\na.jpg\tA dog, running\n"),
        ("a.txt", "file|caption\na.jpg|A dog, running\n"),
        ("a.csv", "file,caption\na.jpg,A dog, running\n"),  # nobody quoted it, but the caption comes last
        ("a.csv", '\ufefffile,caption\na.jpg,"A dog, running"\n'),
        ("a.csv", '"file","caption"\n"a.jpg","A dog, running"\n'),
        ("a.csv", '"file";"caption";"size, in pixels"\na.jpg;A dog, running;3\n'),
        ("a.csv", "\n\n File , Caption\na.jpg,A dog, running"),
        ("a.csv", "image,caption\na.jpg,A dog, running"),
        ("a.csv", "Image Path,Alt-Text\na.jpg,A dog, running"),
        ("a.csv", "image,id,file_name,comment\nblob,7,a.jpg,A dog, running"),
        ("a.jsonl", '{"file": "a.jpg", "caption": "A dog, running"}'),
        ("a.txt", '{"filename": "a.jpg", "captions": ["A dog, running"]}'),
    ],
)
def test_separators_and_names_of_columns(write: Write, name: str, content: str) -> None:
    rows, skipped, _ = read_rows(write(name, content))
    assert [(row.file, row.captions) for row in rows] == [("a.jpg", ("A dog, running",))]
    assert skipped == []


def test_several_captions_and_labels(write: Write) -> None:
    path = write(
        "a.csv",
        "file,captions,labels,url\n"
        "a.jpg,One dog|Two dogs | ,dog; sports ball ;dog\n"
        'b.jpg,"[""A, b"", ""C""]","[""cat""]",x\n'
        "c.jpg\n",
    )
    rows, skipped, unused = read_rows(path)
    assert [(row.captions, row.labels) for row in rows] == [
        (("One dog", "Two dogs"), ("dog", "sports ball")),
        (("A, b", "C"), ("cat",)),
        ((), ()),
    ]
    assert (skipped, unused) == ([], ("url",))


def test_numbered_captions(write: Write) -> None:
    assert captions(write("a.csv", "file_name,caption_0,caption_1\na.jpg,One,Two\n")) == {2: ("One", "Two")}


def test_a_caption_may_have_bars_and_brackets(write: Write) -> None:
    assert captions(write("a.tsv", "file\tcaption\na.jpg\t[a | b]\n")) == {2: ("[a | b]",)}


def test_what_is_left_out_is_named(write: Write) -> None:
    path = write("a.csv", "caption,file\nOne,a.jpg\nOne, two,b.jpg\nThree,\n")
    rows, skipped, _ = read_rows(path)
    assert [row.file for row in rows] == ["a.jpg"]
    assert [entry.where for entry in skipped] == [f"{path}:3", f"{path}:4"]
    assert "3 fields where the header has 2" in skipped[0].reason
    assert skipped[1].reason == "there is no file name"


def test_json_lines_that_are_left_out(write: Write) -> None:
    entries = [
        '{"file": "a.jpg", "labels": ["dog", 3], "split": null}',
        "",
        '{"file": "b.jpg"',
        "[1, 2]",
        '{"caption": "no file"}',
        '{"file": 7}',
        '{"file": "c.jpg", "captions": [["nested"]]}',
        '{"file": "d.jpg", "caption": {"text": "no"}}',
        '{"file": "e.jpg", "split": 1}',
        '{"file": "f.jpg", "caption": "\\ud800"}',
        '{"file": "g.jpg", "caption": "\\ud83d\\ude00"}',
        "[" * 100_000,
        '{"file": "h.jpg", "n": ' + "9" * 5000 + "}",
    ]
    path = write("a.jsonl", "\n".join(entries))
    rows, skipped, _ = read_rows(path)
    assert rows == [TableRow(1, "a.jpg", "", (), ("dog", "3")), TableRow(11, "g.jpg", None, ("😀",), ())]
    assert [entry.where for entry in skipped] == [f"{path}:{line}" for line in (3, 4, 5, 6, 7, 8, 9, 10, 12, 13)]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "name,caption\n1,One\n", "found: name, caption"),
        ("a.csv", "fiel,caption\n1,One\n", "'fiel'"),
        ("a.jsonl", '{"name": "a.jpg"}\n', "found: name"),
        ("a.csv", "\n \n", "empty"),
        ("a.json", json.dumps([{"file": "a.jpg"}]), "JSON lines"),
        ("a.xlsx", "PK", "CSV"),
    ],
)
def test_tables_that_cannot_be_read(write: Write, name: str, content: str, words: str) -> None:
    path = write(name, content)
    with pytest.raises(DatasetError) as error:
        read_rows(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)


@settings(deadline=None, derandomize=True)
@given(st.lists(text, min_size=1, max_size=5))
def test_captions_survive_json(tmp_path_factory: pytest.TempPathFactory, written: list[str]) -> None:
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    path.write_text(json.dumps({"file": "a.jpg", "captions": written}), encoding="utf-8")
    rows, _, _ = read_rows(path)
    assert rows[0].captions == tuple(clean_caption(caption) for caption in written if clean_caption(caption))


@settings(deadline=None, derandomize=True)
@given(
    st.binary(max_size=60) | st.text('file,caption"|;\t\n\r{}[]:\\ud8a.', max_size=60).map(lambda text: text.encode()),
    st.sampled_from(["csv", "tsv", "jsonl", "txt"]),
    st.sampled_from([b"", b"file,caption,labels\n", b"file\tsplit\n", b'{"file": "a"}\n']),
)
def test_no_content_breaks_the_reader(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str, start: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / f"a.{suffix}"
    path.write_bytes(start + content)
    try:
        rows, skipped, _ = read_rows(path)
    except DatasetError:
        return  # refused in words
    lines = {row.line for row in rows} | {int(entry.where.rpartition(":")[2]) for entry in skipped}
    assert len(lines) == len(rows) + len(skipped)
