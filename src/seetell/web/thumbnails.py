"""Scaled copies of the library's images, cached on disk, and the original files.

Copies are named by content in the library's folder `thumbnails`, which can be deleted at any time.
"""

import contextlib
import io
import os
from pathlib import Path
from typing import Literal

from PIL import Image

from seetell.errors import ImageError, SeetellError
from seetell.files import content_hash, write_file
from seetell.images import decode
from seetell.library import LibraryImage

Size = Literal["thumbnail", "view"]
PIXELS: dict[Size, int] = {"thumbnail": 480, "view": 1600}  # of the longer side
_QUALITY: dict[Size, int] = {"thumbnail": 80, "view": 88}


class GoneError(ImageError):
    """No file has the image's content any more."""


def read_original(image: LibraryImage) -> bytes:
    """Read an image's file, and check that it still has the content that was indexed.

    A file that has replaced it, such as a link to something private, is never returned.

    Raises:
        GoneError: no file has this content.
    """
    for path in image.files:
        with contextlib.suppress(OSError):
            if not os.path.isfile(path) or os.stat(path).st_size != image.bytes:
                continue
            with open(path, "rb") as file:
                data = file.read(image.bytes + 1)
            if content_hash(data).hex() == image.hash:
                return data
    raise GoneError("the image's file is gone or has changed", remedy="Update the library: seetell index")


class Thumbnails:
    """JPEG copies of images in two sizes.

    Args:
        library: the library's folder.
    """

    def __init__(self, library: Path) -> None:
        self._folder = library / "thumbnails"

    def cached(self, image: LibraryImage, size: Size) -> bytes | None:
        """Return a copy that was made before, if there is one."""
        try:
            return self._path(image.hash, size).read_bytes()
        except OSError:
            return None

    def create(self, image: LibraryImage, size: Size) -> bytes:
        """Make a copy and cache it.

        Raises:
            GoneError: no file has the image's content any more.
        """
        data = scaled_jpeg(read_original(image), PIXELS[size], _QUALITY[size])
        path = self._path(image.hash, size)
        # On a full disk or a read-only library it is made again next time.
        with contextlib.suppress(OSError, SeetellError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, data)
        return data

    def prune(self, known: frozenset[str]) -> int:
        """Delete copies of images whose hashes are not known; return how many."""
        deleted = 0
        for path in self._folder.glob("??/*"):
            if path.name.partition("-")[0] not in known:
                with contextlib.suppress(OSError):
                    path.unlink()
                    deleted += 1
        return deleted

    def _path(self, digest: str, size: Size) -> Path:
        return self._folder / digest[:2] / f"{digest}-{size}.jpg"


def scaled_jpeg(data: bytes, pixels: int, quality: int) -> bytes:
    """Re-encode an image as a JPEG without metadata whose longer side has at most `pixels` pixels."""
    image = decode(data, name="image", at_least=pixels // 2)
    image.thumbnail((pixels, pixels), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=quality, optimize=True, progressive=True)
    return stream.getvalue()
