"""Malformed files: none crashes, hangs or warns, and each that cannot be read is named."""

import time
import warnings
from pathlib import Path

import pytest

from helpers.fuzz import healthy_files, malformed_files
from seetell.errors import ImageError
from seetell.images import decode


@pytest.mark.timeout(300)
def test_malformed_files_decode_or_are_named(tmp_path: Path) -> None:
    paths = malformed_files(tmp_path)
    assert len(paths) >= 200
    decoded: list[str] = []
    refused: dict[Path, ImageError] = {}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for path in paths:
            start = time.perf_counter()
            try:
                image = decode(path, at_least=20)
                assert image.mode == "RGB"
                assert len(image.tobytes()) == 3 * image.width * image.height
                decoded.append(path.name)
            except ImageError as error:
                refused[path] = error
            assert time.perf_counter() - start < 10, f"{path.name} took too long"
    assert not [str(warning.message) for warning in warned]
    for path, error in refused.items():
        assert error.where == str(path)
        assert error.problem
    assert len(refused) >= 150
    assert len(decoded) >= 30
    for kind in (".jpg", ".png", ".webp", ".gif", ".tif", ".bmp"):
        assert any(path.suffix == kind for path in refused), f"no damaged {kind} was refused"
    for name in ("png-in-truth.jpg", "jpeg-in-truth.gif", "more-after-the-end.jpg"):
        assert name in decoded


def test_the_same_files_every_time(tmp_path: Path) -> None:
    for folder in ("once", "twice"):
        (tmp_path / folder).mkdir()
    once, twice = (malformed_files(tmp_path / folder) for folder in ("once", "twice"))
    assert [path.name for path in once] == [path.name for path in twice]
    assert len({path.name for path in once}) == len(once)
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(once, twice, strict=True) if a.is_file())


@pytest.mark.parametrize(("name", "content"), [pytest.param(*file, id=file[0]) for file in healthy_files()])
def test_what_is_damaged_was_healthy(name: str, content: bytes) -> None:
    image = decode(content, name=name)
    assert image.mode == "RGB"
    assert sorted(image.size) == [60, 80]
