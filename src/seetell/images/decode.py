"""ImageSource files into upright RGB pixels, safely: whatever is wrong with a file becomes a `ImageError` that names it.

A file's first bytes, not its name, decide what it is, and only the plug-in of an allowed format ever sees it: nothing
can reach the ones that start other programs.
"""

import codecs
import contextlib
import importlib
import io
import os
import re
import stat
import warnings
from collections.abc import Iterator
from pathlib import PurePath
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image

from seetell.errors import ImageError
from seetell.images.colours import from_array, to_rgb

Source = str | os.PathLike[str] | bytes | Image.Image | NDArray[Any]

# The largest image that is decoded. A small file can declare any size and so exhaust the memory; the largest sensors
# in phones make 200 megapixels.
MAX_PIXELS = 210_000_000

IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".heic", ".heif", ".hif", ".jfif", ".jpe", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
)

_PLUGINS = {
    "BMP": "PIL.BmpImagePlugin",
    "GIF": "PIL.GifImagePlugin",
    "JPEG": "PIL.JpegImagePlugin",
    "PNG": "PIL.PngImagePlugin",
    "TIFF": "PIL.TiffImagePlugin",
    "WEBP": "PIL.WebPImagePlugin",
}
_SIGNATURES = {
    b"BM": "BMP",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"II+\0": "TIFF",
    b"MM\0+": "TIFF",
}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1"}

_PILLOW_MODULES = r"PIL\."

_CONVERT = "Convert it to JPEG or PNG"
_FETCH_AGAIN = "Copy or download it again"

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def decode(source: Source, *, name: str | None = None, at_least: int | None = None) -> Image.Image:
    """Decode an image into RGB, upright as its EXIF orientation says.

    Reads JPEG, PNG, WebP, GIF (the first frame), TIFF (the first page), BMP, and HEIC where pillow-heif is installed.
    Grey, palette, CMYK, Lab, 16-bit and 32-bit pixels are converted; transparency is laid on white. Safe to call from
    many threads.

    Args:
        source: a path, the bytes of a file, a Pillow image (left as it is), or an array: height × width, alone or
            × 1, 3 or 4 channels, of uint8, uint16 or floating-point values from 0 to 1.
        name: what an error calls the image; its path, where there is one, unless told.
        at_least: a side of this length is wanted in the end, so a JPEG file may be decoded at a half, a quarter or an
            eighth of its size as long as both sides stay at least twice as long as this: several times faster for
            photographs, and the resizing that follows still averages over enough pixels.

    Raises:
        ImageError: the image cannot be read, for whatever reason.
    """
    name = name or image_name(source)
    _silence_pillow()
    if isinstance(source, np.ndarray):
        try:
            return from_array(source)
        except ValueError as error:
            raise ImageError(str(error), where=name) from None
    if isinstance(source, Image.Image):
        with _plainly(name, "image"):
            _check_size(source, name)
            return _upright_rgb(source)
    if isinstance(source, bytes):
        return _decode_stream(io.BytesIO(source), name, at_least)
    if isinstance(source, str | os.PathLike):
        return _decode_file(source, name, at_least)
    raise TypeError(f"an image is a path, bytes, a Pillow image or an array, not {type(source).__name__}")


def is_image_name(path: str | os.PathLike[str]) -> bool:
    """Whether a file is worth decoding, going by its name alone."""
    name = PurePath(path).name
    # macOS writes a "._photo.jpg" full of attributes beside each file on foreign disks.
    return PurePath(name).suffix.lower() in IMAGE_SUFFIXES and not name.startswith("._")


def image_name(source: Source) -> str:
    """What to call an image in messages: its path where it has one."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return str(getattr(source, "filename", "")) or "image"


def _decode_file(path: str | os.PathLike[str], name: str, at_least: int | None) -> Image.Image:
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise ImageError("this is a directory, not an image", where=name)
        if not stat.S_ISREG(mode):  # opening a pipe would wait for ever
            raise ImageError("this is not a regular file", where=name)
        file = open(path, "rb")  # noqa: SIM115  (closed below; only errors of opening are caught here)
    except FileNotFoundError:
        raise ImageError("there is no such file", where=name) from None
    except PermissionError:
        raise ImageError(
            "permission to read this file is denied", where=name, remedy="Change its permissions"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise ImageError(f"this file cannot be opened ({_detail(error)})", where=name) from error
    with file:
        return _decode_stream(file, name, at_least)


def _decode_stream(stream: IO[bytes], name: str, at_least: int | None) -> Image.Image:
    with _plainly(name, "image"):
        head = stream.read(512)
        stream.seek(0)
    kind = _kind(head)
    if kind is None:
        raise _unknown(head, name)
    with _plainly(name, f"{kind} file"):
        image = _open(kind, stream, name)
        _check_size(image, name)
        if at_least:
            image.draft(None, (2 * at_least, 2 * at_least))  # does nothing but for JPEG
        return _upright_rgb(image)


def _kind(head: bytes) -> str | None:
    """The format that a file's first bytes announce, if it is one of those allowed."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS:
        return "HEIC"
    return next((kind for signature, kind in _SIGNATURES.items() if head.startswith(signature)), None)


def _open(kind: str, stream: IO[bytes], name: str) -> Image.Image:
    # Not Image.open: it loads every plug-in for formats it does not know yet, has a pixel limit of its own that anybody
    # in the process may have changed, and replaces the reason of a failure by "cannot identify image file".
    if kind == "HEIC":
        try:
            import pillow_heif
        except ImportError:
            raise ImageError(
                "HEIC images need pillow-heif, which is not installed",
                where=name,
                remedy="Install it with: pip install pillow-heif",
            ) from None
        pillow_heif.register_heif_opener()
        return Image.OPEN["HEIF"][0](stream, "")
    importlib.import_module(_PLUGINS[kind])
    return Image.OPEN[kind][0](stream, "")


def _check_size(image: Image.Image, name: str) -> None:
    width, height = image.size
    if width < 1 or height < 1:
        raise ImageError(f"the image has no pixels ({width} × {height})", where=name)
    if width * height > MAX_PIXELS:
        raise _too_large(f": {width:,} × {height:,} pixels, {MAX_PIXELS / 1e6:,.0f} million at most", name)


def _upright_rgb(image: Image.Image) -> Image.Image:
    image.load()
    turn = None
    with contextlib.suppress(Exception):  # damaged EXIF does not make the pixels worse
        # Read after loading: a PNG's EXIF may follow its pixels; a TIFF is turned, and its orientation deleted, by it.
        turn = _TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    rgb = to_rgb(image)
    return rgb if turn is None else rgb.transpose(turn)


@contextlib.contextmanager
def _plainly(name: str, what: str) -> Iterator[None]:
    """Turn any exception into a `ImageError` about `what` in plain words.

    Every exception there is, because damaged data make Pillow's plug-ins raise nearly all of them.
    """
    try:
        yield
    except ImageError:
        raise
    except Image.DecompressionBombError as error:  # some plug-ins also look at the sizes of parts
        raise _too_large("", name) from error
    except MemoryError as error:
        raise ImageError(f"there is not enough memory to decode this {what}", where=name) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            raise ImageError(f"reading failed ({_detail(error)})", where=name) from error
        if isinstance(error, EOFError) or re.search("truncated|end of file", str(error)):
            raise ImageError(f"this {what} is cut off", where=name, remedy=_FETCH_AGAIN) from error
        raise ImageError(
            f"this {what} is damaged, or of a kind that cannot be read ({_detail(error)})",
            where=name,
            remedy=f"{_FETCH_AGAIN}, or convert it to JPEG or PNG",
        ) from error


def _too_large(how: str, name: str) -> ImageError:
    return ImageError(f"the image is too large{how}", where=name, remedy="Make a smaller copy of it")


def _unknown(head: bytes, name: str) -> ImageError:
    if not head:
        return ImageError("the file is empty", where=name, remedy=_FETCH_AGAIN)
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return ImageError("AVIF images cannot be read", where=name, remedy=_CONVERT)
    if _is_text(head):
        return ImageError("this is text, not an image", where=name, remedy=_FETCH_AGAIN)
    return ImageError(
        "this is not an image, or not of a format that can be read (JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC)",
        where=name,
        remedy=_CONVERT,
    )


def _is_text(head: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()  # incremental: the end may cut a character in two
    try:
        text = decoder.decode(head)
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character.isspace() for character in text)


def _detail(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).strip().rstrip(".") or type(error).__name__


def _silence_pillow() -> None:
    """Keep Pillow's warnings (odd EXIF, odd TIFF tags) from users, who can do nothing about them.

    `warnings.catch_warnings` would do it politely but is not safe with threads, so the filter stays. It is put back in
    front when somebody else has been there since: turned into an error, a warning would refuse a good image.
    """
    first = warnings.filters[0] if warnings.filters else None
    if first is None or first[0] != "ignore" or getattr(first[3], "pattern", None) != _PILLOW_MODULES:
        warnings.filterwarnings("ignore", module=_PILLOW_MODULES)
