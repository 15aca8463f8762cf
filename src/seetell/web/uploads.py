"""Images that people show to the page: looked at within limits, told, and remembered for a while to search by.

Only the embedding is remembered, under a number nobody can guess; the image stays in the browser.
"""

import io
import math
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from PIL import Image
from pydantic import BaseModel

from seetell.errors import ImageError
from seetell.images import decode, register_heic
from seetell.runtime import Embedding, Model
from seetell.web.captions import Told, told

MOST_PIXELS = 64_000_000
KEPT = 256
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP", "HEIF")


class Label(BaseModel):
    """A tag, and how sure the model is of it, from 0 to 1."""

    label: str
    confidence: float


class Look(BaseModel):
    """What an image that was shown is, and by which `id` to search like it; "" if the bundle cannot search."""

    id: str
    told: Told
    tags: list[Label]


@dataclass(frozen=True, slots=True)
class _Kept:
    fingerprint: str
    embedding: Embedding


class UploadedImages:
    """Remembers the last ones."""

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._kept = most, OrderedDict[str, _Kept]()
        self._lock = threading.Lock()

    def look(self, data: bytes, model: Model) -> Look:
        """Decode an image and tell it; raises `ImageError`."""
        if pixels(data) > MOST_PIXELS:
            raise ImageError(
                f"the image is too large: {MOST_PIXELS // 1_000_000} million pixels at most",
                remedy="Make a smaller copy of it",
            )
        image = decode(data, name="image", at_least=model.preparation.resize)
        said = model.describe(np.asarray(image))
        said.check()
        number = ""
        if said.embedding is not None:
            number = secrets.token_urlsafe(12)
            with self._lock:
                self._kept[number] = _Kept(model.bundle.fingerprint, Embedding("image", None, said.embedding))
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
        return Look(
            id=number,
            told=told(said.captions[0], model, image.size) if said.captions else Told(),
            tags=[Label(label=tag.label, confidence=tag.confidence) for tag in said.tags],
        )

    def embedding(self, number: str, fingerprint: str) -> Embedding | None:
        """That of an image that was shown, if it is remembered and this bundle made it."""
        with self._lock:
            kept = self._kept.get(number)
        return kept.embedding if kept is not None and kept.fingerprint == fingerprint else None


def pixels(data: bytes) -> float:
    """How many a file says that it has, without decoding it; 0 if it does not say: decoding tells why."""
    if data[4:8] == b"ftyp":
        register_heic()
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            return math.prod(image.size)
    except Image.DecompressionBombError:
        return math.inf
    except Exception:  # Pillow's plug-ins raise nearly everything on damaged data
        return 0

