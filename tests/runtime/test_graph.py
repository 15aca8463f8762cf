"""Graphs that are intact, but do not match the manifest."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image

from helpers import tiny_bundles as tiny
from seetell.bundle import BundleError, write_bundle
from seetell.errors import SeetellError
from seetell.runtime import open_model
from seetell.util import usable_cores

IMAGE = Image.new("RGB", (9, 9), (200, 10, 10))


def made(path: Path, **changed: bytes) -> Path:
    files = tiny.files()
    for name, data in changed.items():
        files[f"{name}.onnx" if f"{name}.onnx" in files else f"{name}.txt"] = data
    write_bundle(path, tiny.manifest(), files)
    return path


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"encoder": tiny.classifier()}, "does not match the manifest"),
        ({"step": tiny.start()}, "does not match the manifest"),
        ({"start": tiny.encoder()}, "does not match the manifest"),
        ({"words": tiny.VOCABULARY.encode() + b"more\n"}, "has 12 words, its vocabulary 13"),
        ({"words": b"red\ngreen\n"}, "has no <start>"),
    ],
)
def test_captioning_refuses_graphs_of_another_bundle(changed: dict[str, bytes], match: str, tmp_path: Path) -> None:
    with open_model(made(tmp_path / "b", **changed)) as model, pytest.raises(SeetellError, match=match):
        model.captioner(IMAGE)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"labels": b"red\ngreen\n"}, "2 labels, but 3 thresholds"),
        ({"tags": tiny.images()}, "does not match the manifest"),
    ],
)
def test_tagging_refuses_them_too(changed: dict[str, bytes], match: str, tmp_path: Path) -> None:
    with open_model(made(tmp_path / "b", **changed)) as model, pytest.raises(BundleError, match=match):
        model.tagger(IMAGE)


def test_a_graph_that_cannot_run_is_an_error_of_the_bundle(tmp_path: Path) -> None:
    """`images` reads three features; the grid has another shape."""
    manifest = tiny.manifest()
    assert manifest.retriever is not None
    wrong = replace(manifest, retriever=replace(manifest.retriever, layout="grid"))
    write_bundle(tmp_path / "b", wrong, tiny.files())
    with open_model(tmp_path / "b") as model, pytest.raises(BundleError, match="cannot be run"):
        model.retriever.images(IMAGE)


def test_rubbish_that_passes_for_protocol_buffers_cannot_be_loaded(tmp_path: Path) -> None:
    with open_model(made(tmp_path / "b", tags=b"\x3a\x00")) as model, pytest.raises(BundleError, match="graph"):
        model.tagger(IMAGE)


def test_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert usable_cores() == 1
    for other in ("0", "many", "", "100000"):
        monkeypatch.setenv("OMP_NUM_THREADS", other)
        assert usable_cores() >= 1
