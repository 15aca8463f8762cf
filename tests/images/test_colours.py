"""Every kind of pixels becomes the RGB that a person would expect."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from helpers.fuzz import png_chunk
from seetell.errors import ImageError
from seetell.images import decode

RED, GREEN, WHITE = (255, 0, 0), (0, 255, 0), (255, 255, 255)


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def pixels(image: Image.Image) -> np.ndarray:
    assert image.mode == "RGB"
    return np.asarray(image).astype(int)


def ramp(dtype: type, top: float) -> np.ndarray:
    """256 values from 0 to `top`, whose 8-bit values are 0 to 255."""
    return np.linspace(0, top, 256).reshape(16, 16).astype(dtype)


GREYS = np.repeat(np.arange(256).reshape(16, 16, 1), 3, axis=2)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bit_grey_is_scaled_not_clipped(kind: str) -> None:
    content = saved(Image.fromarray(ramp(np.uint16, 65535)), kind)
    assert (pixels(decode(content)) == GREYS).all()


def test_16_bit_grey_rounds_to_the_nearest() -> None:
    every = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    expected = np.floor(every / 65535 * 255 + 0.5)
    assert (pixels(decode(every))[:, :, 0] == expected).all()


def test_big_endian_16_bit_tiff() -> None:
    values = ramp(np.uint16, 65535)
    tags = [(256, 16), (257, 16), (258, 16), (259, 1), (262, 1), (273, 8), (277, 1), (278, 16), (279, values.nbytes)]
    directory = b"".join(struct.pack(">HHII", tag, 4, 1, value) for tag, value in tags)
    data = values.astype(">u2").tobytes()
    content = b"MM\0*" + struct.pack(">I", 8 + len(data)) + data + struct.pack(">H", len(tags)) + directory + bytes(4)
    assert (pixels(decode(content)) == GREYS).all()


def test_16_bit_colour() -> None:
    rows = np.stack([ramp(np.uint16, 65535), ramp(np.uint16, 65535)[::-1], ramp(np.uint16, 0)], axis=2)
    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in rows)
    content = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 16, 2, 0, 0, 0))
    content += png_chunk(b"IDAT", zlib.compress(lines)) + png_chunk(b"IEND", b"")
    assert (pixels(decode(content)) == np.stack([GREYS[..., 0], GREYS[::-1, :, 0], 0 * GREYS[..., 0]], axis=2)).all()


@pytest.mark.parametrize(
    ("dtype", "top"), [(np.int32, 255), (np.int32, 65535), (np.float32, 1), (np.float32, 255), (np.float32, 65535)]
)
def test_32_bit_grey_in_a_customary_range(dtype: type, top: float) -> None:
    content = saved(Image.fromarray(ramp(dtype, top)), "TIFF")
    assert (pixels(decode(content)) == GREYS).all()


@pytest.mark.parametrize(("black", "white"), [(-300, 700), (70_000, 2_000_000), (-1_000_000, -5_000)])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_32_bit_grey_in_no_customary_range_is_stretched(dtype: type, black: int, white: int) -> None:
    values = np.array([[black, white], [black + (white - black) // 5, black]], dtype)
    got = pixels(decode(Image.fromarray(values)))
    assert (got[:, :, 0] == [[0, 255], [51, 0]]).all()


def test_missing_measurements_are_dark() -> None:
    values = np.array([[np.nan, 0.0], [1.0, np.inf]], np.float32)
    assert (pixels(decode(saved(Image.fromarray(values), "TIFF")))[:, :, 0] == [[0, 0], [255, 0]]).all()


@pytest.mark.parametrize("value", [np.nan, 1e9])
def test_a_constant_32_bit_image_is_decoded(value: float) -> None:
    image = decode(Image.fromarray(np.full((3, 4), value, np.float32)))
    assert image.getcolors() == [(12, (0, 0, 0))]


def test_one_bit() -> None:
    image = Image.new("1", (4, 2))
    image.putpixel((1, 1), 1)
    got = decode(saved(image, "PNG"))
    assert sorted(got.getcolors()) == [(1, WHITE), (7, (0, 0, 0))]
    assert got.getpixel((1, 1)) == WHITE


def test_alpha_is_laid_on_white() -> None:
    rng = np.random.default_rng(0)
    rgba = rng.integers(0, 256, (9, 7, 4), dtype=np.uint8)
    alpha = rgba[:, :, 3:] / 255
    expected = rgba[:, :, :3] * alpha + 255 * (1 - alpha)
    for content in (saved(Image.fromarray(rgba), "PNG"), rgba, Image.fromarray(rgba)):
        assert abs(pixels(decode(content)) - expected).max() <= 1


@pytest.mark.parametrize("mode", ["LA", "La"])
def test_grey_with_alpha_is_laid_on_white(mode: str) -> None:
    image = Image.new("LA", (2, 1), (40, 255))
    image.putpixel((1, 0), (40, 0))
    got = decode(image.convert(mode))
    assert [got.getpixel((x, 0)) for x in (0, 1)] == [(40, 40, 40), WHITE]


def test_premultiplied_alpha() -> None:
    assert decode(Image.new("RGBA", (1, 1), (255, 0, 0, 128)).convert("RGBa")).getpixel((0, 0)) == (255, 127, 127)


@pytest.mark.parametrize("transparency", [1, bytes([255, 0, 255])])
def test_palette_with_transparency(transparency: int | bytes) -> None:
    image = Image.new("P", (3, 1))
    image.putpalette([*RED, 0, 0, 0, *GREEN])
    image.putdata([0, 1, 2])
    got = decode(saved(image, "PNG", transparency=transparency))
    assert [got.getpixel((x, 0)) for x in range(3)] == [RED, WHITE, GREEN]
    plain = decode(saved(image, "PNG"))
    assert [plain.getpixel((x, 0)) for x in range(3)] == [RED, (0, 0, 0), GREEN]


@pytest.mark.parametrize(("mode", "colour"), [("RGB", (30, 30, 30)), ("L", 30)])
def test_one_transparent_colour(mode: str, colour: int | tuple[int, int, int]) -> None:
    image = Image.new(mode, (2, 1), "white")
    image.putpixel((0, 0), colour)
    assert decode(saved(image, "PNG", transparency=colour)).getcolors() == [(2, WHITE)]
    assert decode(saved(image, "PNG")).getpixel((0, 0)) == (30, 30, 30)


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_cmyk(kind: str) -> None:
    image = Image.new("CMYK", (16, 16), (0, 255, 255, 0))  # JPEG stores it inverted, as Adobe does
    assert abs(pixels(decode(saved(image, kind))) - RED).max() <= 3


def test_lab() -> None:
    # sRGB's red has L 54.3, a 80.8 and b 69.9 under the light that profiles assume (D50).
    image = Image.merge("LAB", [Image.new("L", (4, 4), value) for value in (138, 209, 198)])
    assert abs(pixels(decode(saved(image, "TIFF"))) - RED).max() <= 6


@pytest.mark.parametrize("mode", ["HSV", "YCbCr", "RGBX", "L"])
def test_other_modes(mode: str) -> None:
    grey = Image.new("RGB", (4, 4), (120, 120, 120))
    assert abs(pixels(decode(grey.convert(mode))) - 120).max() <= 2


def test_arrays() -> None:
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert (pixels(decode(grey)) == GREYS).all()
    assert (pixels(decode(grey[:, :, None])) == GREYS).all()
    assert (pixels(decode(ramp(np.uint16, 65535).astype(">u2"))) == GREYS).all()
    for dtype in (np.float32, np.float64):
        assert (pixels(decode(ramp(dtype, 1.0))) == GREYS).all()
    assert abs(pixels(decode(ramp(np.float16, 1.0))) - GREYS).max() <= 1
    colour = np.random.default_rng(0).integers(0, 256, (5, 8, 3), dtype=np.uint8)
    assert (pixels(decode(colour)) == colour).all()
    assert (pixels(decode(colour[:, ::-2])) == colour[:, ::-2]).all()
    assert (pixels(decode(np.array([[-0.001, 1.001]]))) == [[[0] * 3, [255] * 3]]).all()


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((3, 8, 9), np.uint8), "the array is 3 × 8 × 9"),
        (np.zeros(5, np.uint8), "the array is 5,"),
        (np.zeros((2, 2, 2), np.uint8), "2 × 2 × 2"),
        (np.zeros((0, 4), np.uint8), "empty"),
        (np.zeros((4, 4), np.int64), "int64"),
        (np.zeros((4, 4), bool), "bool"),
        (np.full((4, 4), 200.0), "from 200 to 200"),
        (np.array([[-1.0, 1.0]]), "from -1 to 1"),
        (np.array([[np.nan, 1.0]]), "nan"),
    ],
)
def test_arrays_that_are_no_images(array: np.ndarray, reason: str) -> None:
    with pytest.raises(ImageError, match=reason) as caught:
        decode(array, name="frame 7")
    assert caught.value.where == "frame 7"


def test_the_result_carries_nothing_that_would_act_twice() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    once = decode(saved(Image.new("RGB", (30, 20)), "JPEG", exif=exif))
    assert once.size == (20, 30)
    assert once.info == {}
    assert decode(once).size == (20, 30)
