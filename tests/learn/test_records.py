"""Row records: what is read is what was written, nothing of the machine is in them, and damage is named."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.sample_records import sample
from seetell.errors import SeetellError
from seetell.learn.reproduction.records import Asked, RowRecord, portable, portable_spec, read_records
from seetell.learn.reproduction.table_page import table_records
from seetell.learn.reproduction.tables import table


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = sample("vilalta-table2", "fne-mh", {"sum_of_recalls": 270.25}, seed=2)
    path = record.write(tmp_path / "vilalta-table2")
    assert path.name == "fne-mh.flickr8k.seed2.json"
    assert read_records(tmp_path, "vilalta-table2") == [record]
    assert RowRecord.read(path).text() == path.read_text(encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8"))["command"] == (
        "seetell learn reproduce vilalta-table2 --data flickr8k:PATH --out DIR --rows fne-mh"
    )


def test_the_command_says_all_that_was_asked() -> None:
    asked = Asked(("table:PATH?images=DIR",), "published", ("model.dimensions=8",), ("vgg16",))
    record = replace(sample("xu-table1", "attend-soft-vgg16", {}, dataset="coco"), asked=asked)
    assert record.command(["attend-soft-vgg16", "attend-hard-vgg16"], seeds=3) == (
        "seetell learn reproduce xu-table1 --data 'table:PATH?images=DIR' --dataset coco --out DIR "
        "--rows attend-soft-vgg16,attend-hard-vgg16 --with vgg16=FILE --seeds 3 --budget published "
        "--set model.dimensions=8"
    )


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("flickr8k:/home/me/data/flickr8k", "flickr8k:PATH"),
        ("table:/d/captions.jsonl?images=/d/images&limit=500", "table:PATH?images=DIR&limit=500"),
        ("coco:data/coco?test=1k&restval=extra", "coco:PATH?test=1k&restval=extra"),
        ("scenes:120?seed=3", "scenes:120?seed=3"),
    ],
)
def test_datasets_without_their_places(spec: str, told: str) -> None:
    assert portable_spec(spec) == told


def test_no_place_of_the_machine_is_kept() -> None:
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


DAMAGE: dict[str, Callable[[dict[str, object]], object]] = {
    "has no 'metrics'": lambda content: content.pop("metrics"),
    "'seed' of this row's record is 'one'": lambda content: content.update(seed="one"),
    "of this version": lambda content: content.update(format=7),
    "a row's record has no 'colour'": lambda content: content.update(colour="red"),
    "an epoch of this row's record is damaged": lambda content: content.update(history=[{"loss": 1.0}]),
    "is not a number": lambda content: content.update(metrics={"cider": float("nan")}),
    "'asked' of this row's record is damaged": lambda content: content.update(asked={"data": ["x:PATH"]}),
    "names no dataset": lambda content: content.update(asked={"data": [], "settings": [], "files": []}),
}


@pytest.mark.parametrize("problem", DAMAGE)
def test_a_damaged_record_is_named(problem: str, tmp_path: Path) -> None:
    path = sample("vaishali", "merge", {"cider": 44.0}).write(tmp_path / "vaishali")
    content = json.loads(path.read_text(encoding="utf-8"))
    DAMAGE[problem](content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SeetellError, match=problem) as raised:
        read_records(tmp_path, "vaishali")
    assert raised.value.where == str(path)


def test_half_a_record_is_named(tmp_path: Path) -> None:
    path = sample("vaishali", "merge", {"cider": 44.0}).write(tmp_path / "vaishali")
    path.write_text(path.read_text(encoding="utf-8")[:200], encoding="utf-8")
    with pytest.raises(SeetellError, match="not a row's record") as raised:
        read_records(tmp_path, "vaishali")
    assert raised.value.where == str(path)


def test_a_record_in_the_wrong_place_is_named(tmp_path: Path) -> None:
    path = sample("vaishali", "merge", {"cider": 44.0}).write(tmp_path / "xu-table1")
    with pytest.raises(SeetellError, match=r"vaishali/merge\.flickr8k\.json"):
        read_records(tmp_path, "xu-table1")
    path.unlink()
    sample("xu-table1", "merge", {"cider": 44.0}).write(tmp_path / "xu-table1")
    with pytest.raises(SeetellError, match="xu-table1 has no row 'merge'"):
        table_records(table("xu-table1"), tmp_path)
