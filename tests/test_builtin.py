"""What came with the package: if there are built-in models, they open, are small enough, and say what they are."""

import subprocess
import sys
import zipfile
from pathlib import Path

import seetell
from seetell.bundle import Bundle, Place, builtin_folder
from seetell.bundle.registry import installed

ROOT = Path(seetell.__file__).parents[2]
LARGEST = 60_000_000  # bytes
PARTS = {"tf_efficientnet_lite2": "EfficientNet-Lite2", "retriever": "all-MiniLM-L6-v2"}


def built_in() -> list[Place]:
    return [place for place in installed() if place.builtin]


def test_a_built_in_bundle_is_whole_and_small() -> None:
    for place in built_in():
        check_bundle(place)


def check_bundle(place: Place) -> None:
    bundle = Bundle.open(place.path)
    assert set(bundle.manifest.kinds) == {"captioner", "tagger", "retriever"}
    assert sum(path.stat().st_size for path in place.path.iterdir()) <= LARGEST
    assert str(ROOT) not in (place.path / "bundle.json").read_text(encoding="utf-8")
    for head in bundle.manifest.heads:
        assert any(score.split == "test" and score.measured_on == "bundle" for score in head.scores), head.KIND
        assert head.trained_as, head.KIND


def test_card_and_notice_name_its_parts() -> None:
    for place in built_in():
        check_words(place)


def check_words(place: Place) -> None:
    bundle = Bundle.open(place.path)
    card = (place.path / "MODEL_CARD.md").read_text(encoding="utf-8")
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
    here = {path for path in builtin_folder().rglob("*") if path.is_file()} if builtin_folder().is_dir() else set()
    assert {f"seetell/{path.relative_to(builtin_folder().parent).as_posix()}" for path in here} <= names
    assert "seetell/learn/recipes/best-tags.toml" in names
