"""Writing and opening bundles, and everything that can be wrong with one."""

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from helpers.tiny_bundles import copy, files, forge, manifest, write_tiny
from seetell.bundle import Bundle, BundleError, CaptionerPart, Manifest, write_bundle


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("bundle") / "tiny").path


def refusal(path: Path) -> BundleError:
    with pytest.raises(BundleError) as caught:
        Bundle.open(path)
    assert caught.value.remedy
    assert str(path) in caught.value.where
    return caught.value


def test_what_was_written_is_read_again(whole: Path) -> None:
    bundle = Bundle.open(whole)
    wanted = replace(manifest(), files=bundle.manifest.files)
    assert bundle.manifest == wanted
    assert bundle.fingerprint == wanted.fingerprint
    assert bundle.size == sum(map(len, files().values()))
    assert bundle.graph("encoder.onnx") == files()["encoder.onnx"]
    assert bundle.vocabulary("words.txt").word(4) == "red"
    assert bundle.vocabulary("labels.txt").words == ("red", "green", "blue")
    assert bundle.manifest.kinds == ("captioner", "tagger", "retriever")


def test_a_forgery_that_changes_nothing_opens(whole: Path, tmp_path: Path) -> None:
    """So that the refusals of forgeries below have the reasons they are meant to have."""
    assert Bundle.open(forge(copy(whole, tmp_path / "b"), lambda content: None)).manifest.name == "tiny"


def test_any_flipped_byte_of_the_description_is_refused(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "b")
    path = folder / "bundle.json"
    good = path.read_bytes()
    for offset in range(len(good)):
        for flip in (0xFF, 0x01):
            path.write_bytes(good[:offset] + bytes([good[offset] ^ flip]) + good[offset + 1 :])
            refusal(folder)
    path.write_bytes(good)
    Bundle.open(folder)


def test_any_cut_of_the_description_is_refused(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "b")
    good = (folder / "bundle.json").read_bytes()
    for size in range(len(good)):
        (folder / "bundle.json").write_bytes(good[:size])
        refusal(folder)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"format": NaN}',
        b'{"format": true}',
        b'{"format": 2}',
        b'{"format": 2, "format": 2}',
        b'{"format": ' + b"9" * 10_000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"format": 2, "checksum": "\\ud800"}',
        b" " * 5_000_000,
    ],
)
def test_a_description_that_is_none_is_refused(content: bytes, whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "b")
    (folder / "bundle.json").write_bytes(content)
    refusal(folder)


def test_a_newer_format_says_so(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "b")
    (folder / "bundle.json").write_text('{"format": 3, "what": "ever"}', encoding="utf-8")
    assert "upgrade" in refusal(folder).remedy


def test_an_old_format_asks_for_a_new_export(whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "b")
    (folder / "bundle.json").write_text('{"format": 1, "what": "ever"}', encoding="utf-8")
    refused = refusal(folder)
    assert "format 1" in refused.problem
    assert "seetell learn export" in refused.remedy


def test_what_is_not_a_bundle_is_refused(tmp_path: Path) -> None:
    assert "no such folder" in refusal(tmp_path / "absent").problem
    assert "not a bundle" in refusal(tmp_path).problem
    (tmp_path / "file").write_text("text", encoding="utf-8")
    assert "no such folder" in refusal(tmp_path / "file").problem
    with pytest.raises(BundleError):
        Bundle.open("a\0b")


@pytest.mark.parametrize("name", sorted(files()))
def test_a_damaged_file_is_refused(name: str, whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "b")
    good = (folder / name).read_bytes()
    for bad in (good[:-1], good[: len(good) // 2], b"", good + b"\0", good[:-1] + bytes([good[-1] ^ 1])):
        (folder / name).write_bytes(bad)
        assert str(folder / name) == refusal(folder).where
    (folder / name).unlink()
    assert "missing" in refusal(folder).problem
    (folder / name).mkdir()
    assert "not a regular file" in refusal(folder).problem


@pytest.mark.skipif(os.name == "nt", reason="making links needs rights on Windows")
def test_links_and_pipes_are_refused(whole: Path, tmp_path: Path) -> None:
    for name in ("encoder.onnx", "words.txt", "bundle.json"):
        folder = copy(whole, tmp_path / name)
        (folder / name).unlink()
        (folder / name).symlink_to(whole / name)
        assert "link" in refusal(folder).problem
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert "not a regular file" in refusal(folder).problem


@pytest.mark.parametrize(
    "name",
    [
        "../encoder.onnx",
        "/etc/passwd",
        "C:\\windows\\win.ini",
        "a/b.onnx",
        "a\\b.onnx",
        "..",
        ".",
        "",
        ".hidden.onnx",
        "ENCODER.onnx",
        "con.onnx",
        "encoder.onnx ",
        "encoder.onnx.",
        "encoder.onnx:stream",
        "encoder.py",
        "encoder.onnx\0",
        "encoder\n.onnx",
        "é.onnx",
        "x" * 90 + ".onnx",
        "bundle.json",
    ],
)
def test_names_that_play_tricks_are_refused(name: str, whole: Path, tmp_path: Path) -> None:
    folder = copy(whole, tmp_path / "b")

    def change(content: Any) -> None:
        content["encoder"]["graph"] = name
        content["files"][name] = content["files"].pop("encoder.onnx")

    assert "name" in refusal(forge(folder, change)).problem


def _set(path: str, value: Any) -> Any:
    def change(content: Any) -> None:
        *keys, last = path.split(".")
        for key in keys:
            content = content[int(key) if key.isdigit() else key]
        content[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", "../up"),
        ("name", 3),
        ("surprise", 1),
        ("precision", "float64"),
        ("training_data", "text"),
        ("training_data", [1]),
        ("licence", "x" * 20_000),
        ("supersedes", "0" * 64),
        ("captioner.training_settings", 3),
        ("captioner.scores.0.metrics.bleu4", True),
        ("captioner.scores.0.metrics.bleu4", 1e300),
        ("encoder", []),
        ("encoder.preparation.size", 0),
        ("encoder.preparation.size", "8"),
        ("encoder.preparation.mean", [0, 0]),
        ("encoder.preparation.crops", "ten"),
        ("encoder.preparation.fit", ["shorter"]),
        ("encoder.layouts", []),
        ("encoder.layouts.0.name", "else"),
        ("encoder.layouts.0.name", "grid"),
        ("encoder.layouts.0.shape", [3, 3]),
        ("encoder.layouts.0.shape", [-1]),
        ("encoder.layouts.0.sections", [1]),
        ("captioner.layout", "levels"),
        ("captioner.vocabulary", "step.onnx"),
        ("captioner.sequence.step", "start.onnx"),
        ("captioner.sequence.state", []),
        ("captioner.sequence.state.0.name", "annotations"),
        ("captioner.sequence.state.0.name", "h\n"),
        ("captioner.sequence.attention", 1),
        ("captioner.sequence.decoding.beam", 0),
        ("captioner.sequence.decoding.beam", 10**9),
        ("captioner.sequence.decoding.beam", True),
        ("captioner.sequence.decoding.minimum_length", 7),
        ("captioner.rerank_weight", -1),
        ("captioner.rerank_weight", "much"),
        ("captioner.retry", {"words": "step.onnx", "below": 0.5}),
        ("captioner.retry", {"words": "words.txt", "below": 0.5}),
        ("captioner.retry", {"words": "again.onnx"}),
        ("captioner.scores.0.metrics.bleu4", [1]),
        ("captioner.scores.0.metrics", {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}),
        ("captioner.scores.0.images", -1),
        ("captioner.scores.0.measured_on", "paper"),
        ("tagger.classifier.thresholds", []),
        ("tagger.classifier.thresholds", [1e10, 0, 0]),
        ("tagger.classifier", None),
        ("retriever.similarity", "__class__"),
        ("retriever.tokenizer", "os.system"),
        ("retriever.dimensions", 0.5),
        ("files", []),
        ("files.more", {"size": 1, "sha256": "0" * 64}),
    ],
)
def test_wrong_values_are_refused_even_with_a_right_checksum(
    path: str, value: Any, whole: Path, tmp_path: Path
) -> None:
    refusal(forge(copy(whole, tmp_path / "b"), _set(path, value)))


@pytest.mark.parametrize("key", ["encoder", "files", "name", "captioner.sequence", "encoder.preparation", "licence"])
def test_missing_values_are_refused_even_with_a_right_checksum(key: str, whole: Path, tmp_path: Path) -> None:
    def change(content: Any) -> None:
        *keys, last = key.split(".")
        for each in keys:
            content = content[each]
        del content[last]

    refusal(forge(copy(whole, tmp_path / "b"), change))


def test_the_fingerprint_changes_with_results_only(whole: Path) -> None:
    first = Bundle.open(whole).manifest
    assert isinstance(first.captioner, CaptionerPart)
    assert replace(first, name="other", about="", licence="MIT").fingerprint == first.fingerprint
    unscored = replace(first, captioner=replace(first.captioner, scores=()))
    assert unscored.fingerprint == first.fingerprint
    assert replace(first, precision="int8").fingerprint != first.fingerprint
    changed = dict(first.files)
    changed["step.onnx"] = replace(changed["step.onnx"], sha256="0" * 64)
    assert replace(first, files=changed).fingerprint != first.fingerprint


def test_the_fingerprint_is_computed_once(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = Bundle.open(whole).manifest
    first = manifest.fingerprint
    monkeypatch.setattr("seetell.bundle.manifest.canonical_json", lambda content: b"")
    assert manifest.fingerprint == first
    assert replace(manifest, precision="int8").fingerprint != first


def test_a_bundle_names_those_it_supersedes(tmp_path: Path) -> None:
    earlier = write_tiny(tmp_path / "earlier")
    assert earlier.manifest.supersedes == ()
    named = replace(manifest(), supersedes=(earlier.fingerprint,))
    written = write_bundle(tmp_path / "later", named, files())
    assert Bundle.open(tmp_path / "later").manifest.supersedes == (earlier.fingerprint,)
    assert written.fingerprint == earlier.fingerprint
    refusal(forge(tmp_path / "later", _set("supersedes", ["../up"])))


def test_an_error_names_the_file_the_key_and_the_remedy(whole: Path, tmp_path: Path) -> None:
    folder = forge(copy(whole, tmp_path / "b"), _set("captioner.sequence.decoding.beam", 0))
    assert str(refusal(folder)) == (
        f"{folder / 'bundle.json'}: captioner.sequence.decoding.beam is 0; expected an integer ≥ 1. "
        "Export it again, or get a new copy of it"
    )
    folder = forge(folder, _set("captioner.sequence.decoding", {"beem": 1}))
    assert "Did you mean 'beam'?" in str(refusal(folder))


def test_a_manifest_built_in_python_is_checked_before_it_is_written(tmp_path: Path) -> None:
    wrong = replace(manifest(), precision="float64")
    with pytest.raises(BundleError, match="precision is 'float64'"):
        write_bundle(tmp_path / "out", wrong, files())
    assert not list(tmp_path.iterdir())


def test_writing_happens_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out"
    write_tiny(target)
    before = {each.name: each.read_bytes() for each in target.iterdir()}
    with pytest.raises(BundleError, match="already"):
        write_tiny(target)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(BundleError, match="No space left"):
            write_bundle(target, manifest(heads=("tagger",)), files(("tagger",)), replace=True)
    assert {each.name: each.read_bytes() for each in target.iterdir()} == before
    write_bundle(target, manifest(heads=("tagger",)), files(("tagger",)), replace=True)
    assert Bundle.open(target).manifest.kinds == ("tagger",)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_only_bundles_are_replaced(tmp_path: Path) -> None:
    target = tmp_path / "holiday"
    target.mkdir()
    (target / "photo.jpg").write_bytes(b"precious")
    with pytest.raises(BundleError, match="not a bundle"):
        write_bundle(target, manifest(), files(), replace=True)
    assert (target / "photo.jpg").read_bytes() == b"precious"


def test_a_manifest_that_does_not_fit_its_files_is_not_written(tmp_path: Path) -> None:
    for wrong in (files(("tagger",)), {**files(), "more.txt": b"x\n"}):
        with pytest.raises(BundleError, match="listed"):
            write_bundle(tmp_path / "out", manifest(), wrong)
    nothing: Manifest = manifest(heads=())
    with pytest.raises(BundleError, match="no captioner, no tagger"):
        write_bundle(tmp_path / "out", nothing, {"encoder.onnx": b"x"})
    with pytest.raises(BundleError, match="vocabulary"):
        write_bundle(tmp_path / "out", manifest(), {**files(), "words.txt": b"dog\ndog\n"})
    alone = manifest(heads=("captioner",))
    assert alone.captioner is not None
    rerank_weight = replace(alone, captioner=replace(alone.captioner, rerank_weight=1.0))
    with pytest.raises(BundleError, match="no retriever"):
        write_bundle(tmp_path / "out", rerank_weight, files(("captioner",)))
    assert not list(tmp_path.iterdir())
