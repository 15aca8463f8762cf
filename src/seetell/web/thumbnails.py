"""Small copies of the library's images, made once; and the images themselves, as they were when they were indexed.

A copy is kept by content in the folder `thumbnails` of the library, which may be deleted at any time.
"""

import contextlib
import hashlib
import io
import os
import tempfile
from pathlib import Path

from PIL import Image

from seetell.errors import ImageError
from seetell.images import decode
from seetell.library import LibraryImage

SIDES = {"thumbnail": 480, "view": 1600}  # the longer one, in pixels
_QUALITY = {"thumbnail": 80, "view": 88}


class GoneError(ImageError):
    """No file holds the image any more."""


def content(image: LibraryImage) -> bytes:
    """The bytes of an image's file. They are what was indexed, or else there is an error: whatever was put in its
    place since, a link to some other file perhaps, is not given away."""
    for path in image.files:
        with contextlib.suppress(OSError):
            if not os.path.isfile(path) or os.stat(path).st_size != image.bytes:
                continue
            with open(path, "rb") as file:
                data = file.read(image.bytes + 1)
            if hashlib.blake2b(data, digest_size=16).hexdigest() == image.hash:
                return data
    raise GoneError("the image's file is gone, or has changed", remedy="Look for changes: seetell index")


class Thumbnails:
    """JPEG copies in two sizes, `thumbnail` and `view`."""

    def __init__(self, library: Path) -> None:
        self._folder = library / "thumbnails"

    def kept(self, image: LibraryImage, kind: str) -> bytes | None:
        """The copy, if it was made before."""
        try:
            return self._path(image.hash, kind).read_bytes()
        except OSError:
            return None

    def make(self, image: LibraryImage, kind: str) -> bytes:
        data = shrunk(content(image), SIDES[kind], _QUALITY[kind])
        path = self._path(image.hash, kind)
        part = ""
        # A full disk or a library that may only be read: it is made again the next time.
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
            with open(handle, "wb") as file:
                file.write(data)
            os.replace(part, path)
            part = ""
        if part:
            with contextlib.suppress(OSError):
                os.unlink(part)
        return data

    def prune(self, known: frozenset[str]) -> int:
        """Delete the copies of images that the library does not have any more; how many."""
        deleted = 0
        for path in self._folder.glob("??/*"):
            if path.name.partition("-")[0] not in known:
                with contextlib.suppress(OSError):
                    path.unlink()
                    deleted += 1
        return deleted

    def _path(self, digest: str, kind: str) -> Path:
        return self._folder / digest[:2] / f"{digest}-{kind}.jpg"


def shrunk(data: bytes, side: int, quality: int) -> bytes:
    """An image as a JPEG whose longer side is at most so long; it carries no metadata."""
    image = decode(data, name="image", at_least=side // 2)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=quality, optimize=True, progressive=True)
    return stream.getvalue()
