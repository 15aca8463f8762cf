"""Scaled copies, and originals that have changed."""

import io
from pathlib import Path

import pytest
from PIL import Image

from seetell.library import Library
from seetell.web.thumbnails import GoneError, Thumbnails, read_original, scaled_jpeg


def test_copies_fit_the_size_and_have_no_metadata(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    exif[0x0112] = 6  # rotated by 90°
    stream = io.BytesIO()
    Image.new("RGB", (3000, 1000), (200, 0, 0)).save(stream, "JPEG", exif=exif)
    with Image.open(io.BytesIO(scaled_jpeg(stream.getvalue(), 480, 80))) as image:
        assert image.size == (160, 480)
        assert not image.getexif()
        assert b"where I live" not in image.info.get("exif", b"")


def test_small_images_are_not_enlarged() -> None:
    stream = io.BytesIO()
    Image.new("RGBA", (20, 10)).save(stream, "PNG")
    with Image.open(io.BytesIO(scaled_jpeg(stream.getvalue(), 480, 80))) as image:
        assert image.size == (20, 10)


def test_only_indexed_content_is_returned(library: Library) -> None:
    image = library.get(1)
    path = Path(image.path)
    data = path.read_bytes()
    assert read_original(image) == data
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])  # same size as before
    with pytest.raises(GoneError):
        read_original(image)
    path.unlink()
    with pytest.raises(GoneError):
        read_original(image)


def test_copies_of_removed_images_are_pruned(library: Library) -> None:
    copies = Thumbnails(library.path)
    first, second = library.get(1), library.get(2)
    for image in (first, second):
        copies.create(image, "thumbnail")
        copies.create(image, "view")
    assert copies.prune(library.content_hashes() - {first.hash}) == 2
    assert copies.cached(first, "thumbnail") is None
    assert copies.cached(second, "thumbnail") is not None
    assert not list(library.path.rglob("*.part"))
