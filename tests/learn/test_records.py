"""Row records: what is read is what was written, nothing of the machine is in them, and damage is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from helpers.sample_records import sample
from seetell.errors import SeetellError
from seetell.learn.reproduction.pages.table import commands, table_records
from seetell.learn.reproduction.portable import portable, portable_spec
from seetell.learn.reproduction.records import RecordError, Request, RowRecord, read_records
from seetell.learn.reproduction.tables import table


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = sample("vilalta-table2", "fne-mh", {"sum_of_recalls": 270.25}, seed=2)
    path = record.write(tmp_path / "vilalta-table2")
    assert path.name == "fne-mh.flickr8k.seed2.json"
    assert read_records(tmp_path, "vilalta-table2") == [record]
    assert RowRecord.read(path).text() == path.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8"))["command"] == (
        "seetell learn reproduce vilalta-table2 --data flickr8k:PATH --out DIR --rows fne-mh --seed 2"
    )


def test_the_command_contains_the_whole_request() -> None:
    request = Request(("table:PATH?images=DIR",), "published", ("model.dimensions=8",), ("vgg16",))
    rows = ["attend-soft-vgg16", "attend-hard-vgg16"]
    assert request.command("xu-table1", "coco", rows, "--seeds 3") == (
        "seetell learn reproduce xu-table1 --data 'table:PATH?images=DIR' --dataset coco --out DIR "
        "--rows attend-soft-vgg16,attend-hard-vgg16 --with vgg16=FILE --seeds 3 --budget published "
        "--set model.dimensions=8"
    )


def test_every_record_reproduces_its_own_seed() -> None:
    first = sample("vilalta-table2", "fne-mh", {"sum_of_recalls": 270.0})
    third = replace(first, seed=3)
    assert first.command.endswith("--rows fne-mh --seed 1")
    assert third.command.endswith("--rows fne-mh --seed 3")
    pages = commands(table("vilalta-table2"), [first, replace(first, seed=2), third])
    assert pages == [f"{first.command.removesuffix(' --seed 1')} --seeds 3"]


def test_the_committed_records_carry_their_own_command() -> None:
    paths = sorted((Path(__file__).parents[2] / "docs" / "results" / "rows").glob("*/*.json"))
    assert len(paths) > 150
    for path in paths:
        record = RowRecord.read(path)
        assert json.loads(path.read_text(encoding="utf-8"))["command"] == record.command, path
        assert f" --seed {record.seed}" in record.command
        assert path.name == f"{record.stem}.json"
        assert record.settings["training"]["seed"] == record.seed


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("flickr8k:/home/me/data/flickr8k", "flickr8k:PATH"),
        ("table:/d/captions.jsonl?images=/d/images&limit=500", "table:PATH?images=DIR&limit=500"),
        ("coco:data/coco?test=1k&restval=extra", "coco:PATH?test=1k&restval=extra"),
        ("scenes:120?seed=3", "scenes:120?seed=3"),
    ],
)
def test_datasets_without_paths(spec: str, shown: str) -> None:
    assert portable_spec(spec) == shown


def test_no_path_of_the_machine_is_kept() -> None:
    settings = {
        "encoder": {"name": "vgg16@/home/me/weights/vgg16_conv.safetensors"},
        "text": {"vectors": "~/glove/glove.txt", "tokenizer": "ptb"},
        "lists": [("encoder.name=vgg16@../vgg16.pth", "a b/c", 0.123456789), "C:\\data\\x.txt"],
    }
    assert portable(settings) == {
        "encoder": {"name": "vgg16@vgg16_conv.safetensors"},
        "text": {"vectors": "glove.txt", "tokenizer": "ptb"},
        "lists": [["encoder.name=vgg16@vgg16.pth", "a b/c", 0.123457], "x.txt"],
    }


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "metrics is missing": lambda content: content.pop("metrics"),
    "seed is 'one'; expected an integer": lambda content: content.update(seed="one"),
    "format is 7; this version reads format 2": lambda content: content.update(format=7),
    "there is no setting 'protocl'. Did you mean 'protocol'": lambda content: content.update(protocl="red"),
    r"history\[0\]: phase is missing": lambda content: content.update(history=[{"loss": 1.0}]),
    "metrics.cider is nan; expected a finite number": lambda content: content.update(metrics={"cider": float("nan")}),
    r"history\[1\].loss is inf": lambda content: content["history"][1].update(loss=float("inf")),
    "request: data is missing": lambda content: content.update(request={"settings": []}),
    "request: there is no setting 'file'. Did you mean 'files'": lambda content: content["request"].update(file=[]),
    "request.data names no dataset": lambda content: content.update(request={"data": [], "settings": [], "files": []}),
}


@pytest.mark.parametrize("problem", DAMAGE)
def test_a_damaged_record_is_named_with_the_key(problem: str, tmp_path: Path) -> None:
    path = sample("vaishali", "merge", {"cider": 44.0}).write(tmp_path / "vaishali")
    content = json.loads(path.read_text(encoding="utf-8"))
    DAMAGE[problem](content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RecordError, match=problem) as raised:
        read_records(tmp_path, "vaishali")
    assert raised.value.where.startswith(str(path))


def test_half_a_record_is_named(tmp_path: Path) -> None:
    path = sample("vaishali", "merge", {"cider": 44.0}).write(tmp_path / "vaishali")
    path.write_text(path.read_text(encoding="utf-8")[:200], encoding="utf-8")
    with pytest.raises(SeetellError, match="not a row record") as raised:
        read_records(tmp_path, "vaishali")
    assert raised.value.where == str(path)


def test_a_record_in_the_wrong_folder_is_named(tmp_path: Path) -> None:
    path = sample("vaishali", "merge", {"cider": 44.0}).write(tmp_path / "xu-table1")
    with pytest.raises(SeetellError, match=r"vaishali/merge\.flickr8k\.json"):
        read_records(tmp_path, "xu-table1")
    path.unlink()
    sample("xu-table1", "merge", {"cider": 44.0}).write(tmp_path / "xu-table1")
    with pytest.raises(SeetellError, match="xu-table1 has no row 'merge'"):
        table_records(table("xu-table1"), tmp_path)
