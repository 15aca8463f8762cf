"""Image files into upright RGB pixels, safely: whatever is wrong with a file becomes an `ImageError` that names it.

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
from typing import IO, Any, BinaryIO, TypeGuard

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image

from seetell.errors import ImageError
from seetell.images.colours import from_array, to_rgb

Source = str | os.PathLike[str] | bytes | BinaryIO | Image.Image | NDArray[Any]
"""A path, the bytes of a file, an open binary file, a Pillow image, or an array."""

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
        source: a path, the bytes of a file, an open binary file, a Pillow image (left unchanged), or an array:
            height × width, alone or × 1, 3 or 4 channels, of uint8, uint16 or floating-point values from 0 to 1.
        name: the image's name in errors; by default its path, if it has one.
        at_least: the length of the sides that are needed in the end: a JPEG file may be decoded at a half, a quarter
            or an eighth of its size as long as both sides stay at least twice this length. This is several times
            faster for photographs, and resizing afterwards still averages over enough pixels.

    Raises:
        ImageError: the image cannot be read, for whatever reason.

    Example:
        >>> decode(np.zeros((480, 640, 3), np.uint8)).size
        (640, 480)
    """
    name = name or image_name(source)
    _silence_pillow()
    if isinstance(source, np.ndarray):
        try:
            return from_array(source)
        except ValueError as error:
            raise ImageError(str(error), where=name) from None
    if isinstance(source, Image.Image):
        with _as_image_errors(name, "image"):
            _check_size(source, name)
            return _upright_rgb(source)
    if isinstance(source, bytes):
        return _decode_stream(io.BytesIO(source), name, at_least)
    if isinstance(source, str | os.PathLike):
        return _decode_file(source, name, at_least)
    if is_open_file(source):
        return _decode_stream(io.BytesIO(read_open_file(source)), name, at_least)
    raise TypeError(
        f"an image is a path, bytes, an open binary file, a Pillow image or an array, not {type(source).__name__}"
    )


def is_open_file(source: object) -> TypeGuard[BinaryIO]:
    """Whether something is an open file: an `io` object, or a wrapper around one as `tempfile` makes."""
    return isinstance(source, io.IOBase) or (hasattr(source, "read") and hasattr(source, "seek"))


def read_open_file(file: BinaryIO) -> bytes:
    """The bytes of an open file from its current position on, which is restored afterwards where that is possible.

    Args:
        file: opened in binary mode; one in text mode is refused with a TypeError.
    """
    start = file.tell() if file.seekable() else None
    data: object = file.read()
    if start is not None:
        file.seek(start)
    if not isinstance(data, bytes):
        raise TypeError("an image file must be opened in binary mode: open(path, 'rb')")
    return data


def register_heic() -> bool:
    """Let Pillow open HEIC files; False if pillow-heif is not installed."""
    try:
        import pillow_heif
    except ImportError:
        return False
    pillow_heif.register_heif_opener()
    return True


def is_image_name(path: str | os.PathLike[str]) -> bool:
    """Whether a file may be an image, judging by its name alone.

    Example:
        >>> is_image_name("Photo.JPG"), is_image_name("notes.txt")
        (True, False)
    """
    name = PurePath(path).name
    # macOS writes a "._photo.jpg" full of attributes next to each file on foreign disks.
    return PurePath(name).suffix.lower() in IMAGE_SUFFIXES and not name.startswith("._")


def image_name(source: Source) -> str:
    """An image's name in messages: its path, or "image" if it has none."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    name = getattr(source, "filename", None) or getattr(source, "name", None)
    return name if isinstance(name, str) else "image"


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
    with _as_image_errors(name, "image"):
        head = stream.read(512)
        stream.seek(0)
    kind = _kind(head)
    if kind is None:
        raise _unknown(head, name)
    with _as_image_errors(name, f"{kind} file"):
        image = _open(kind, stream, name)
        _check_size(image, name)
        if at_least:
            image.draft(None, (2 * at_least, 2 * at_least))  # has no effect on formats other than JPEG
        return _upright_rgb(image)


def _kind(head: bytes) -> str | None:
    """The format of a file by its first bytes, if it is an allowed one."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS:
        return "HEIC"
    return next((kind for signature, kind in _SIGNATURES.items() if head.startswith(signature)), None)


def _open(kind: str, stream: IO[bytes], name: str) -> Image.Image:
    # Not Image.open: it loads every plug-in for formats it does not know yet, has a pixel limit of its own that anybody
    # in the process may have changed, and replaces the reason of a failure by "cannot identify image file".
    if kind == "HEIC":
        if not register_heic():
            raise ImageError(
                "HEIC images need pillow-heif, which is not installed",
                where=name,
                remedy="Install it with: pip install pillow-heif",
            )
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
def _as_image_errors(name: str, what: str) -> Iterator[None]:
    """Turn any exception into an `ImageError` about `what`.

    Any at all, because damaged data make Pillow's plug-ins raise nearly every kind.
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

    `warnings.catch_warnings` is not safe with threads, so the filter is installed for good. It is moved to the front
    again if other filters were added since: a warning turned into an error would reject a good image.
    """
    first = warnings.filters[0] if warnings.filters else None
    if first is None or first[0] != "ignore" or getattr(first[3], "pattern", None) != _PILLOW_MODULES:
        warnings.filterwarnings("ignore", module=_PILLOW_MODULES)
