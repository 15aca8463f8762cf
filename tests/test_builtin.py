"""The built-in model opens, is small enough, and is documented."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import seetell
from seetell.bundle import Bundle, InstalledBundle, builtin_folder, installed

ROOT = Path(seetell.__file__).parents[2]
LARGEST = 60_000_000  # bytes
PARTS = {"tf_efficientnet_lite2": "EfficientNet-Lite2", "retriever": "all-MiniLM-L6-v2"}


PREVIOUS = "9e4f9aa856fd057ecd6f354aacfdc0b0929535b87c5ee58d77d8ef74b8a334cd"  # the same weights in format 1


@pytest.fixture(params=["photos"])
def built_in(request: pytest.FixtureRequest) -> InstalledBundle:
    """The built-in bundle of this name; fails if there is none."""
    (found,) = (each for each in installed() if each.builtin and each.name == request.param)
    return found


def test_every_built_in_bundle_is_tested() -> None:
    assert [each.name for each in installed() if each.builtin] == ["photos"]


def test_a_built_in_bundle_is_whole_and_small(built_in: InstalledBundle) -> None:
    bundle = Bundle.open(built_in.path)
    assert set(bundle.manifest.kinds) == {"captioner", "tagger", "retriever"}
    assert sum(path.stat().st_size for path in built_in.path.iterdir()) <= LARGEST
    assert str(ROOT) not in (built_in.path / "bundle.json").read_text(encoding="utf-8")
    for head in bundle.manifest.heads:
        assert any(score.split == "test" and score.measured_on == "bundle" for score in head.scores), head.KIND
        assert head.training_settings, head.KIND


def test_it_supersedes_the_same_weights_in_the_previous_format(built_in: InstalledBundle) -> None:
    assert PREVIOUS in Bundle.open(built_in.path).manifest.supersedes


def test_card_and_notice_name_its_parts(built_in: InstalledBundle) -> None:
    bundle = Bundle.open(built_in.path)
    card = (built_in.path / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert bundle.fingerprint[:16] in card
    for name in ("Flickr8k", "COCO", "CC BY 4.0", bundle.manifest.encoder.name):
        assert name in card, name
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    parts = [bundle.manifest.encoder.name.partition("@")[0], *bundle.manifest.kinds]
    for part in parts:
        if part in PARTS:
            assert PARTS[part] in notice, part
    assert parts[0] in PARTS, "NOTICE must name the encoder's weights"


def test_the_wheel_holds_all_that_is_built_in(tmp_path: Path) -> None:
    """And what the licences ask for."""
    how = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *how, str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.rsplit("/", 1)[-1] for name in names if "/licenses/" in name} >= {"LICENSE", "NOTICE"}
    here = {path for path in builtin_folder().rglob("*") if path.is_file()}
    assert here
    assert {f"seetell/{path.relative_to(builtin_folder().parent).as_posix()}" for path in here} <= names
    assert "seetell/learn/recipes/best-tags.toml" in names
