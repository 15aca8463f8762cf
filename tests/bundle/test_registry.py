"""Bundles by name."""

from pathlib import Path

import pytest

import seetell
from helpers.tiny_bundles import write_tiny
from seetell.bundle import Bundle, BundleError, add, find_bundle, installed, remove, user_folder
from seetell.bundle.registry import builtin_folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "data"))
    monkeypatch.setattr("seetell.bundle.registry.builtin_folder", lambda: tmp_path / "package" / "builtin")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def names() -> list[str]:
    return [bundle.name for bundle in installed()]


def test_added_found_and_removed(tmp_path: Path, folder: Path) -> None:
    made = write_tiny(tmp_path / "made")
    assert names() == []
    bundle = add(made.path)
    assert bundle.path == folder / "tiny" == find_bundle("tiny") == user_folder() / "tiny"
    assert Bundle.open(bundle.path).fingerprint == made.fingerprint
    with pytest.raises(BundleError, match="already"):
        add(made.path)
    add(made.path, replace=True)
    add(made.path, "other")
    assert names() == ["other", "tiny"]
    remove("tiny")
    assert names() == ["other"]
    assert [each.name for each in folder.iterdir()] == ["other"]
    with pytest.raises(BundleError, match="no bundle called"):
        remove("tiny")


def test_the_built_in_one_is_the_default(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no built-in model"):
        find_bundle()
    made = write_tiny(tmp_path / "package" / "builtin" / "everyday")
    assert find_bundle() == find_bundle("builtin") == find_bundle("everyday") == made.path
    assert [(bundle.name, bundle.builtin) for bundle in installed()] == [("everyday", True)]
    for name in ("builtin", "everyday"):
        with pytest.raises(BundleError, match="not removed"):
            remove(name)
        with pytest.raises(BundleError, match="name already"):
            add(made.path, name)
    assert Bundle.open(find_bundle()).fingerprint == made.fingerprint


def test_of_several_built_in_ones_the_default_does_most(tmp_path: Path) -> None:
    builtin = tmp_path / "package" / "builtin"
    write_tiny(builtin / "a", ("tagger",))
    write_tiny(builtin / "z", ("captioner",))
    assert find_bundle() == builtin / "a"
    write_tiny(builtin / "m", ("captioner", "tagger"))
    write_tiny(builtin / "n", ("captioner", "retriever"))
    assert find_bundle() == find_bundle("builtin") == builtin / "m"
    assert names() == ["a", "m", "n", "z"]
    (builtin / "README.md").write_text("no bundle", encoding="utf-8")
    (builtin / "empty").mkdir()
    assert names() == ["a", "m", "n", "z"]


def test_a_users_bundle_comes_before_a_built_in_one_of_its_name(tmp_path: Path, folder: Path) -> None:
    """It was there before the package had one of that name."""
    add(write_tiny(tmp_path / "mine").path, "everyday")
    write_tiny(tmp_path / "package" / "builtin" / "everyday", ("tagger",))
    assert find_bundle("everyday") == folder / "everyday"
    assert find_bundle() == tmp_path / "package" / "builtin" / "everyday"
    assert not remove("everyday").builtin
    assert find_bundle("everyday") == find_bundle()


def test_paths_and_names(tmp_path: Path) -> None:
    made = write_tiny(tmp_path / "mine")
    assert find_bundle("mine") == Path("mine")
    assert find_bundle(made.path) == made.path
    assert find_bundle("./absent") == Path("./absent")  # opening it says what is wrong
    add(made.path, "mine")
    assert find_bundle("mine") == user_folder() / "mine"
    assert find_bundle("./mine") == Path("./mine")
    with pytest.raises(BundleError) as caught:
        find_bundle("mime")
    assert caught.value.remedy == "Did you mean 'mine'?"


@pytest.mark.parametrize("name", ["../up", "/abs", "con", "Tiny", "a..b", "a.", ".a", "", "a b", "x" * 61])
def test_names_that_play_tricks_are_refused(name: str, tmp_path: Path) -> None:
    made = write_tiny(tmp_path / "mine")
    if name:
        with pytest.raises(BundleError, match="cannot be a bundle's name"):
            add(made.path, name)
    with pytest.raises(BundleError):
        remove(name)
    assert not names()


def test_a_damaged_bundle_is_not_added(tmp_path: Path) -> None:
    made = write_tiny(tmp_path / "mine")
    (made.path / "encoder.onnx").write_bytes(b"")
    with pytest.raises(BundleError, match="damaged"):
        add(made.path)
    assert not names()


def test_the_package_knows_where_its_own_would_be() -> None:
    assert builtin_folder() == Path(seetell.__file__).parent / "builtin"
