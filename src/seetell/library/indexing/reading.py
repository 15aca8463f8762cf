"""Reads files: once to hash them, and once more, in the thread that encodes it, if the content is new.

Between the two it is not held in memory, so that large photos do not pile up. If the file changed meanwhile, it is left
for the next update.
"""

import os
import stat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from seetell.errors import ImageError
from seetell.files import stream_hash
from seetell.images import decode
from seetell.images.metadata import read_metadata
from seetell.library.indexing.messages import PendingFile
from seetell.library.storage.rows import ImageFacts


def hash_file(path: str) -> PendingFile:
    """Hash a file's content, with its size and modification time at that moment; raises OSError."""
    with open(path, "rb", buffering=0, opener=_open_nonblocking) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is not a regular file")
        digest = stream_hash(file)
    return PendingFile(path, status.st_size, status.st_mtime_ns, digest)


def read_image(file: PendingFile, at_least: int) -> tuple[NDArray[np.uint8], ImageFacts]:
    """Decode a hashed file, and collect what is known of it without a model; raises `ImageError`.

    Args:
        file: as it was hashed.
        at_least: the side length that the encoder needs, so that no more is decoded than is used.
    """
    try:
        with open(file.path, "rb", opener=_open_nonblocking) as opened:
            status = os.fstat(opened.fileno())
            data = opened.read()
    except FileNotFoundError:
        raise ImageError("there is no such file", where=file.path) from None
    except OSError as error:
        raise ImageError(f"it cannot be read ({error.strerror or error})", where=file.path) from None
    if (status.st_size, status.st_mtime_ns) != (file.size, file.mtime):
        raise ImageError("it changed while it was read", where=file.path)
    pixels: NDArray[np.uint8] = np.asarray(decode(data, name=file.path, at_least=at_least))
    found = read_metadata(data)
    facts = ImageFacts(
        width=found.width or pixels.shape[1],
        height=found.height or pixels.shape[0],
        bytes=len(data),
        taken=file.mtime / 1e9 if found.taken is None else found.taken,
        dhash=difference_hash(pixels),
        description=found.description,
    )
    return pixels, facts


def difference_hash(pixels: NDArray[Any]) -> int:
    """Whether each cell of an 8 × 8 grid is brighter than its right neighbour, as 64 bits, signed.

    It stays nearly the same when an image is resized, recompressed, or made a little brighter.
    """
    small = Image.fromarray(pixels).convert("L").resize((9, 8), Image.Resampling.BOX)
    grey = np.asarray(small, np.int16)
    bits = np.packbits(grey[:, :-1] > grey[:, 1:])
    return int(bits.view(">i8")[0])


def _open_nonblocking(path: str, flags: int) -> int:
    """Opening a pipe must not wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
