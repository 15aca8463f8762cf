"""A file on its way into the library: hashed first, and read once more, by the thread that encodes it, if it is new.

Between the two it is not held in memory, so that large photographs do not pile up; if it changed meanwhile, it is left
for the next time.
"""

import hashlib
import os
import stat
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seetell.errors import ImageError
from seetell.images import decode
from seetell.images.metadata import read_metadata

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of an image before any model sees it."""

    width: int
    height: int
    bytes: int
    taken: float
    look: int
    description: str


@dataclass(slots=True)
class PendingFile:
    """An image for `Model.describe`; `facts` are there once it was read.

    Args:
        at_least: the length of a side that the encoder wants, so that no more is decoded than is used.
    """

    path: str
    at_least: int
    hash: bytes = b""
    size: int = 0
    mtime: int = 0
    facts: Facts | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.path

    def take_hash(self) -> None:
        """Hash the content, and remember size and time as they were then; raises OSError."""
        digest = hashlib.blake2b(digest_size=16)
        with open(self.path, "rb", buffering=0, opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "it is not a regular file")
            self.size, self.mtime = status.st_size, status.st_mtime_ns
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        self.hash = digest.digest()

    def read(self) -> Any:
        """The pixels, which `seetell.images.decode` takes as well as bytes: decoding once serves models and `look`."""
        try:
            with open(self.path, "rb", opener=_without_waiting) as file:
                status = os.fstat(file.fileno())
                data = file.read()
        except FileNotFoundError:
            raise ImageError("there is no such file", where=self.path) from None
        except OSError as error:
            raise ImageError(f"it cannot be read ({error.strerror or error})", where=self.path) from None
        if (status.st_size, status.st_mtime_ns) != (self.size, self.mtime):
            raise ImageError("it changed while it was read", where=self.path)
        pixels = np.asarray(decode(data, name=self.path, at_least=self.at_least))
        found = read_metadata(data)
        self.facts = Facts(
            found.width or pixels.shape[1],
            found.height or pixels.shape[0],
            len(data),
            self.mtime / 1e9 if found.taken is None else found.taken,
            look(pixels),
            found.description,
        )
        return pixels


def look(pixels: NDArray[np.uint8]) -> int:
    """The difference hash: whether each of 8 × 8 places is brighter than its neighbour on the right; 64 bits, signed.

    It stays nearly the same when an image is resized, compressed again, or made a little brighter.
    """
    small = Image.fromarray(pixels).convert("L").resize((9, 8), Image.Resampling.BOX)
    grey = np.asarray(small, np.int16)
    bits = np.packbits(grey[:, :-1] > grey[:, 1:])
    return int(bits.view(">i8")[0])


def _without_waiting(path: str, flags: int) -> int:
    """Opening a pipe must not wait for somebody to write into it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
