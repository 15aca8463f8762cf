"""Formats, orientation, reduced decoding, and a named error for everything that can go wrong."""

import importlib
import io
import os
import struct
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from helpers.fuzz import healthy_files
from seetell.errors import ImageError
from seetell.images import IMAGE_SUFFIXES, decode, image_name, is_image_name
from seetell.images.metadata import read_metadata

decoding = importlib.import_module("seetell.images.decode")  # the name in the package is the function's


def photo(width: int = 60, height: int = 40) -> Image.Image:
    """A smooth image without symmetry."""
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    channels = [x, y, (x * y) ** 2]
    return Image.fromarray((np.stack(channels, axis=2) * 255).astype(np.uint8))


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def difference(a: Image.Image, b: Image.Image) -> float:
    assert a.size == b.size
    return float(abs(np.asarray(a).astype(int) - np.asarray(b).astype(int)).mean())


def heic(image: Image.Image, **options: object) -> bytes:
    pillow_heif = pytest.importorskip("pillow_heif", reason="pillow-heif is not installed")
    pillow_heif.register_heif_opener()
    return saved(image, "HEIF", **options)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "JPEG", "WEBP", "GIF"])
def test_formats(kind: str, tmp_path: Path) -> None:
    image = photo()
    content = saved(image, kind)
    path = tmp_path / "an image, ünnamed"
    path.write_bytes(content)
    for source in (content, path, str(path)):
        got = decode(source)
        assert type(got) is Image.Image
        assert got.mode == "RGB"
        assert difference(got, image) <= {"PNG": 0, "BMP": 0, "TIFF": 0, "GIF": 12}.get(kind, 4)


def test_heic() -> None:
    image = photo(64, 48)
    assert difference(decode(heic(image, quality=90)), image) < 4


def test_heic_is_upright_once() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    image = photo(64, 48)
    got = decode(heic(image, quality=90, exif=exif.tobytes()))
    assert difference(got, image.rotate(270, expand=True)) < 4


def test_the_metadata_of_heic_are_read_before_any_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = heic(Image.new("RGB", (48, 32), "red"))
    monkeypatch.setattr(Image, "OPEN", {kind: opener for kind, opener in Image.OPEN.items() if kind != "HEIF"})
    monkeypatch.setattr(Image, "ID", [kind for kind in Image.ID if kind != "HEIF"])
    metadata = read_metadata(data)
    assert (metadata.width, metadata.height) == (48, 32)


def test_heic_without_pillow_heif_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(ImageError, match="pip install pillow-heif") as caught:
        decode(b"\0\0\0\x18ftypheic" + bytes(100), name="phone.heic")
    assert caught.value.where == "phone.heic"


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF", "PNG"])
def test_the_first_frame(kind: str) -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue", "lime")]
    got = decode(saved(frames[0], kind, save_all=True, append_images=frames[1:]))
    assert difference(got, frames[0]) < 3


def test_a_photograph_with_a_second_image_inside() -> None:
    image = photo(640, 480)
    content = saved(image, "MPO", save_all=True, append_images=[Image.new("RGB", (640, 480))])
    assert difference(decode(content), image) < 3
    assert decode(content, at_least=60).size == (160, 120)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_orientation(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    upright = photo()
    # The stored image is the one that the EXIF standard's turn makes upright again.
    undo = {
        1: lambda i: i,
        2: ImageOps.mirror,
        3: lambda i: i.rotate(180),
        4: ImageOps.flip,
        5: lambda i: ImageOps.mirror(i.rotate(270, expand=True)),
        6: lambda i: i.rotate(90, expand=True),
        7: lambda i: ImageOps.mirror(i.rotate(90, expand=True)),
        8: lambda i: i.rotate(270, expand=True),
    }
    got = decode(saved(undo[orientation](upright), kind, exif=exif))
    assert difference(got, upright) < 5


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_orientations_that_do_not_exist_are_ignored(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert decode(saved(photo(), "JPEG", exif=exif)).size == (60, 40)


def test_damaged_exif_does_not_cost_the_image() -> None:
    for exif in (b"Exif\0\0", b"Exif\0\0MM\0*\xff\xff\xff\xff", b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01"):
        assert decode(saved(photo(), "JPEG", exif=exif)).size == (60, 40)
        assert decode(saved(photo(), "PNG", exif=exif[6:])).size == (60, 40)


def test_pillow_never_warns() -> None:
    exif = b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0" + bytes(5)
    content = saved(photo(), "JPEG", exif=exif)
    # Pillow itself does warn about this file.
    with pytest.warns(UserWarning, match="EXIF"), Image.open(io.BytesIO(content)) as image:
        image.getexif().get(0x0112)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decode(content).size in ((60, 40), (40, 60))


def test_a_large_image_is_no_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(photo(), "PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 60 * 40 - 1)  # Pillow itself would warn
    assert decode(content).size == (60, 40)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)  # and now refuse
    assert decode(content).size == (60, 40)


def test_the_pixel_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_PIXELS", 60 * 40)
    assert decode(saved(photo(), "JPEG")).size == (60, 40)
    monkeypatch.setattr(decoding, "MAX_PIXELS", 60 * 40 - 1)
    for source in (saved(photo(), "JPEG"), saved(photo(), "PNG"), photo()):
        with pytest.raises(ImageError, match="too large: 60 × 40 pixels"):
            decode(source, at_least=5)


@pytest.mark.parametrize("at_least", [1, 24, 25, 50, 100, 101, 400])
@pytest.mark.parametrize("size", [(800, 600), (601, 803), (400, 201)])
def test_reduced_decoding_keeps_twice_the_pixels(size: tuple[int, int], at_least: int) -> None:
    content = saved(photo(*size), "JPEG")
    reduced = decode(content, at_least=at_least)
    assert min(reduced.size) >= min(*size, 2 * at_least)
    scale = max(s for s in (1, 2, 4, 8) if s == 1 or min(size) // (2 * at_least) >= s)
    assert reduced.size == (-(-size[0] // scale), -(-size[1] // scale))
    assert reduced.tobytes() == decode(content, at_least=at_least).tobytes()
    if scale > 1:
        full = decode(content).resize(reduced.size, Image.Resampling.BOX)
        assert difference(reduced, full) < 3


def test_only_jpeg_is_reduced() -> None:
    assert decode(saved(photo(800, 600), "PNG"), at_least=10).size == (800, 600)


def test_a_pillow_image_is_left_as_it_is() -> None:
    exif = Image.Exif()
    exif[0x0112] = 3
    image = Image.open(io.BytesIO(saved(photo(), "JPEG", exif=exif)))
    before = image.tobytes()
    got = decode(image)
    assert difference(got, image.rotate(180)) == 0
    assert image.tobytes() == before
    assert image.getexif()[0x0112] == 3
    rgb = photo()
    again = decode(rgb)
    again.paste("black", (0, 0, 60, 40))
    assert difference(rgb, photo()) == 0


def test_a_pillow_image_that_fails_to_load() -> None:
    image = Image.open(io.BytesIO(saved(photo(), "PNG")[:200]))
    with pytest.raises(ImageError, match="cut off"):
        decode(image)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"hello, world", "text, not an image"),
        (b"a" + ("é" * 600).encode(), "text, not an image"),  # byte 512 is the first half of a character
        ("\ufeff{}".encode(), "text, not an image"),
        (bytes(100), "not an image, or not of a format"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n\x80", "not an image, or not of a format"),
        (b"\0\0\0\x1cftypavif" + bytes(100), "AVIF"),
        (saved(photo(), "JPEG")[:-200], "JPEG file is cut off"),
        (saved(photo(), "PNG")[:-200], "PNG file is cut off"),
        (b"\xff\xd8\xff" + bytes(100), "JPEG file is damaged"),
        (b"II*\0\x08\0\0\0\0\0", "TIFF file is damaged"),
    ],
)
def test_bytes_that_are_no_images(content: bytes, reason: str) -> None:
    with pytest.raises(ImageError, match=reason) as caught:
        decode(content, name="upload 3")
    assert caught.value.where == "upload 3"
    assert caught.value.remedy
    with pytest.raises(ImageError) as caught:
        decode(content)
    assert caught.value.where == "image"


def test_an_image_without_pixels() -> None:
    with pytest.raises(ImageError, match=r"no pixels \(0 × 5\)"):
        decode(Image.new("RGB", (0, 5)))
    gif = bytearray(saved(photo(), "GIF"))
    gif[6:10] = bytes(4)
    with pytest.raises(ImageError):
        decode(bytes(gif[:13]))


def test_only_allowed_formats_are_opened() -> None:
    for kind in ("PPM", "TGA", "ICO", "EPS", "PCX"):
        content = saved(photo(), kind)
        with pytest.raises(ImageError):
            decode(content)


@pytest.mark.parametrize(
    "error",
    [
        *(OSError("broken"), SyntaxError("odd"), ValueError("bad"), struct.error("short"), OverflowError("big")),
        *(MemoryError(), EOFError(), IndexError("range"), KeyError("tag"), TypeError("none"), AssertionError()),
        *(RecursionError("deep"), NotImplementedError(), ZeroDivisionError("zero"), RuntimeError("lib")),
    ],
)
@pytest.mark.parametrize("moment", ["_open", "load"])
def test_whatever_a_plug_in_raises(error: Exception, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL.JpegImagePlugin import JpegImageFile

    def fail(self: object) -> None:
        raise error

    monkeypatch.setattr(JpegImageFile, moment, fail)
    with pytest.raises(ImageError) as caught:
        decode(saved(photo(), "JPEG"), name="holiday.jpg")
    assert caught.value.where == "holiday.jpg"
    assert "JPEG" in caught.value.problem


def test_a_keyboard_interrupt_is_not_a_damaged_image(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(image: Image.Image) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(decoding, "to_rgb", interrupt)
    with pytest.raises(KeyboardInterrupt):
        decode(photo())


def test_files_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder.jpg"
    folder.mkdir()
    with pytest.raises(ImageError, match="directory, not an image") as caught:
        decode(folder)
    assert caught.value.where == str(folder)
    with pytest.raises(ImageError, match="no such file"):
        decode(tmp_path / "missing.jpg")
    with pytest.raises(ImageError, match="cannot be opened"):
        decode("nul\0byte.jpg")
    path = tmp_path / "secret.jpg"
    path.write_bytes(saved(photo(), "JPEG"))

    def deny(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(decoding, "open", deny, raising=False)
    with pytest.raises(ImageError, match="permission") as caught:
        decode(path)
    assert caught.value.remedy

    def vanish(*args: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(decoding, "open", vanish)  # after it was looked at
    with pytest.raises(ImageError, match="no such file"):
        decode(path)


def test_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(saved(photo(), "JPEG"))

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(decoding, "open", lambda *args: Failing(), raising=False)
    with pytest.raises(ImageError, match=r"reading failed \(Input/output error\)"):
        decode(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.timeout(20)
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    with pytest.raises(ImageError, match="not a regular file"):
        decode(tmp_path / "pipe.jpg")


def test_other_types_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError, match="not int"):
        decode(3)  # type: ignore[arg-type]


def test_files_are_closed(tmp_path: Path) -> None:
    for name, content in healthy_files():
        path = tmp_path / name
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ResourceWarning)
            decode(path)
        path.unlink()  # Windows refuses while it is open


def test_many_threads(tmp_path: Path) -> None:
    files = list(healthy_files()) * 8
    alone = [decode(content).tobytes() for _, content in files]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda file: decode(file[1]).tobytes(), files))
    assert together == alone


def test_image_names() -> None:
    for name in ("a.jpg", "B.JPEG", "c.PnG", "dir/d.webp", "e.tar.gif", "f.heic", "g.tiff", "h.bmp"):
        assert is_image_name(name)
        assert is_image_name(Path(name))
    for name in ("a.txt", "jpg", ".jpg", "a.jpg.part", "a", "", "b.pdf", "dir.jpg/x", "._a.jpg", "x/._b.png"):
        assert not is_image_name(name)
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in IMAGE_SUFFIXES)


def test_what_images_are_called(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(saved(photo(), "PNG"))
    assert image_name(path) == str(path)
    with Image.open(path) as image:
        assert image_name(image) == str(path)
    for source in (b"", photo(), np.zeros((2, 2))):
        assert image_name(source) == "image"


def test_importing_the_room_is_cheap() -> None:
    script = "import sys, seetell.images; print([m for m in sys.modules if m.endswith('Plugin') or m == 'pillow_heif'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_decoding_loads_no_other_plug_in() -> None:
    script = (
        "import io, sys; from seetell.images import decode; from PIL import Image; from PIL import TiffImagePlugin\n"
        "stream = io.BytesIO(); Image.new('RGB', (2, 2)).save(stream, 'TIFF'); decode(stream.getvalue())\n"
        "print('PIL.EpsImagePlugin' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
