"""Small copies, and files that are not what they were."""

import io
from pathlib import Path

import pytest
from PIL import Image

from seetell.library import Library
from seetell.web.thumbnails import GoneError, Thumbnails, content, shrunk


def test_a_copy_is_as_long_as_it_may_be_and_carries_no_metadata(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    exif[0x0112] = 6  # held upright
    stream = io.BytesIO()
    Image.new("RGB", (3000, 1000), (200, 0, 0)).save(stream, "JPEG", exif=exif)
    with Image.open(io.BytesIO(shrunk(stream.getvalue(), 480, 80))) as image:
        assert image.size == (160, 480)
        assert not image.getexif()
        assert b"where I live" not in image.info.get("exif", b"")


def test_small_images_are_not_enlarged() -> None:
    stream = io.BytesIO()
    Image.new("RGBA", (20, 10)).save(stream, "PNG")
    with Image.open(io.BytesIO(shrunk(stream.getvalue(), 480, 80))) as image:
        assert image.size == (20, 10)


def test_only_what_was_indexed_is_given(library: Library) -> None:
    image = library.get(1)
    path = Path(image.path)
    data = path.read_bytes()
    assert content(image) == data
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])  # as long as before
    with pytest.raises(GoneError):
        content(image)
    path.unlink()
    with pytest.raises(GoneError):
        content(image)


def test_copies_of_forgotten_images_are_deleted(library: Library) -> None:
    copies = Thumbnails(library.path)
    first, second = library.get(1), library.get(2)
    for image in (first, second):
        copies.make(image, "thumbnail")
        copies.make(image, "view")
    assert copies.prune(library.hashes() - {first.hash}) == 2
    assert copies.kept(first, "thumbnail") is None
    assert copies.kept(second, "thumbnail") is not None
    assert not list(library.path.rglob("*.part"))
