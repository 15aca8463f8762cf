"""ImageSource files that are damaged in every way we could think of, always the same ones."""

import contextlib
import io
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

SEED = 20260115
HUGE = 60_000  # a side; 3.6 thousand million pixels


def malformed_files(folder: Path) -> list[Path]:
    """Write all of them into an empty folder; the names say what was done."""
    chance = random.Random(SEED)
    healthy = dict(healthy_files())
    paths = []
    for name, content in [*_damaged(healthy, chance), *_huge(healthy), *_impostors(healthy, chance)]:
        paths.append(folder / name)
        paths[-1].write_bytes(content)
    paths.append(folder / "directory.jpg")
    paths[-1].mkdir()
    paths.append(folder / "vanished.jpg")
    return paths


def healthy_files() -> Iterator[tuple[str, bytes]]:
    """A small image in every format and in the commoner kinds of each."""
    rng = np.random.default_rng(SEED)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    rgb = coarse.resize((80, 60), Image.Resampling.BICUBIC)
    rgba = rgb.copy()
    rgba.putalpha(rgb.convert("L"))
    deep = Image.fromarray(rng.integers(0, 65536, (60, 80), dtype=np.uint16))
    exif = Image.Exif()
    exif[0x0112] = 6
    more = [rgb.rotate(90 * turn) for turn in (1, 2)]

    def saved(image: Image.Image, kind: str, **options: object) -> bytes:
        stream = io.BytesIO()
        image.save(stream, kind, **options)
        return stream.getvalue()

    yield "baseline.jpg", saved(rgb, "JPEG", exif=exif)
    yield "progressive.jpg", saved(rgb, "JPEG", progressive=True)
    yield "cmyk.jpg", saved(rgb.convert("CMYK"), "JPEG")
    yield "grey.jpg", saved(rgb.convert("L"), "JPEG")
    yield "rgb.png", saved(rgb, "PNG", exif=exif)
    yield "palette.png", saved(rgb.quantize(32), "PNG", transparency=bytes(range(32)))
    yield "alpha.png", saved(rgba, "PNG")
    yield "deep.png", saved(deep, "PNG")
    yield "lossy.webp", saved(rgb, "WEBP")
    yield "lossless.webp", saved(rgba, "WEBP", lossless=True)
    yield "animated.webp", saved(rgb, "WEBP", save_all=True, append_images=more)
    yield "still.gif", saved(rgb, "GIF")
    yield "animated.gif", saved(rgb, "GIF", save_all=True, append_images=more)
    yield "raw.tif", saved(rgb, "TIFF")
    yield "lzw.tif", saved(rgb, "TIFF", compression="tiff_lzw")
    yield "jpeg.tif", saved(rgb, "TIFF", compression="jpeg")
    yield "deep.tif", saved(deep, "TIFF", compression="tiff_adobe_deflate")
    yield "pages.tif", saved(rgb, "TIFF", save_all=True, append_images=more)
    yield "colour.bmp", saved(rgb, "BMP")
    yield "palette.bmp", saved(rgb.quantize(16), "BMP")
    with contextlib.suppress(ImportError):
        import pillow_heif

        stream = io.BytesIO()
        pillow_heif.from_pillow(rgb).save(stream, quality=80)
        yield "still.heic", stream.getvalue()


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _damaged(healthy: dict[str, bytes], chance: random.Random) -> Iterator[tuple[str, bytes]]:
    for name, content in healthy.items():
        for cut in (3, 12, 30, len(content) // 4, len(content) // 2, len(content) * 9 // 10, len(content) - 1):
            yield f"cut-at-{cut}-{name}", content[:cut]
        for flips, reach in ((1, 64), (8, 64), (3, len(content)), (40, len(content))):
            broken = bytearray(content)
            for _ in range(flips):
                broken[chance.randrange(min(reach, len(broken)))] ^= 1 << chance.randrange(8)
            yield f"{flips}-flips-in-{reach}-{name}", bytes(broken)
        hole = chance.randrange(16, len(content) // 2)
        yield f"hole-{name}", content[:hole] + bytes(100) + content[hole + 100 :]
        yield f"dropped-{name}", content[:hole] + content[hole + 7 :]
        other = chance.choice([head for kind, head in healthy.items() if Path(kind).suffix != Path(name).suffix])
        yield f"foreign-head-{name}", other[:16] + content[16:]


def _huge(healthy: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Small files that declare a huge image."""
    jpeg = bytearray(healthy["baseline.jpg"])
    frame = jpeg.index(b"\xff\xc0")
    jpeg[frame + 5 : frame + 9] = struct.pack(">HH", HUGE, HUGE)
    yield "huge.jpg", bytes(jpeg)
    pixels = png_chunk(b"IDAT", zlib.compress(bytes(1000))) + png_chunk(b"IEND", b"")
    for side in (HUGE, 14_000, 2**31 - 1):  # 14,000: allowed, but then the pixels are not there
        head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
        yield f"huge-{side}.png", b"\x89PNG\r\n\x1a\n" + head + pixels
    gif = bytearray(healthy["still.gif"])
    gif[6:10] = struct.pack("<HH", HUGE, HUGE)
    yield "huge.gif", bytes(gif)
    bmp = bytearray(healthy["colour.bmp"])
    for side in (HUGE, 2**31 - 1, -(2**31)):
        bmp[18:26] = struct.pack("<ii", side, side)
        yield f"huge-{side}.bmp", bytes(bmp)
    webp = bytearray(healthy["animated.webp"])
    webp[24:30] = struct.pack("<I", 2**24 - 1)[:3] * 2
    yield "huge.webp", bytes(webp)
    for name in ("raw.tif", "lzw.tif"):
        tiff = bytearray(healthy[name])
        (directory,) = struct.unpack_from("<I", tiff, 4)
        (entries,) = struct.unpack_from("<H", tiff, directory)
        for entry in range(directory + 2, directory + 2 + 12 * entries, 12):
            if struct.unpack_from("<H", tiff, entry)[0] in (256, 257):  # the width and the length
                struct.pack_into("<HII", tiff, entry + 2, 4, 1, HUGE)
        yield f"huge-{name}", bytes(tiff)


def _impostors(healthy: dict[str, bytes], chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Files that are not what their names say."""
    yield "empty.jpg", b""
    yield "one-byte.png", b"\x89"
    yield "text.jpg", "Straße, not an image".encode()
    yield "page.jpg", b"<!DOCTYPE html><html><body>404 Not Found</body></html>"
    yield "drawing.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>"
    yield "bm-text.bmp", b"BMW and Mini, a list of cars"
    yield "postscript.jpg", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n"
    yield "document.png", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    yield "portable.jpg", b"P6 2 2 255 " + bytes(12)
    yield "zeros.gif", bytes(5000)
    yield "noise.webp", chance.randbytes(5000)
    yield "video.heic", b"\0\0\0\x18ftypmp42" + bytes(100)
    yield "hollow.heic", b"\0\0\0\x18ftypheic" + bytes(100)
    yield "image.avif", b"\0\0\0\x1cftypavif" + bytes(100)
    yield "png-in-truth.jpg", healthy["rgb.png"]
    yield "jpeg-in-truth.gif", healthy["baseline.jpg"]
    yield "more-after-the-end.jpg", healthy["baseline.jpg"] + bytes(3000)
