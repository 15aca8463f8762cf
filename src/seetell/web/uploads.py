"""Uploaded images: captioned, tagged, and available as a search query for a while.

Only the embedding is kept, under an id that cannot be guessed. The image itself stays in the browser.
"""

import io
import math
import secrets
from dataclasses import dataclass

import numpy as np
from PIL import Image

from seetell.errors import ImageError
from seetell.images import decode, register_heic
from seetell.runtime import Embedding, Model
from seetell.util import LruCache
from seetell.web.captions import caption_with_attention
from seetell.web.schemas import CaptionResponse, TagResponse, UploadResponse

MAX_PIXELS = 64_000_000
KEPT = 256
_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP", "HEIF")


@dataclass(frozen=True, slots=True)
class _Upload:
    fingerprint: str
    embedding: Embedding


class UploadedImages:
    """The embeddings of the most recent uploads.

    Args:
        limit: how many to keep.
    """

    def __init__(self, limit: int = KEPT) -> None:
        self._uploads: LruCache[str, _Upload] = LruCache(limit)

    def add(self, data: bytes, model: Model) -> UploadResponse:
        """Caption and tag an image, and keep its embedding.

        Args:
            data: the bytes of an image file.
            model: the model that describes it.

        Raises:
            ImageError: the image cannot be read, or is too large.
        """
        if pixel_count(data) > MAX_PIXELS:
            raise ImageError(
                f"the image is too large: the limit is {MAX_PIXELS // 1_000_000} million pixels",
                remedy="Upload a smaller copy",
            )
        image = decode(data, name="image", at_least=model.preparation.resize)
        description = model.describe(np.asarray(image))
        description.check()
        upload_id = ""
        if description.embedding is not None:
            upload_id = secrets.token_urlsafe(12)
            embedding = Embedding("image", None, description.embedding)
            self._uploads.put(upload_id, _Upload(model.bundle.fingerprint, embedding))
        captions = description.captions
        caption = caption_with_attention(captions[0], model, image.size) if captions else CaptionResponse()
        tags = [TagResponse(label=tag.label, confidence=tag.confidence) for tag in description.tags]
        return UploadResponse(**dict(caption), id=upload_id, tags=tags)

    def embedding(self, upload_id: str, fingerprint: str) -> Embedding | None:
        """Return the embedding of an upload, if it is still kept and comes from the model with this fingerprint."""
        upload = self._uploads.get(upload_id)
        return upload.embedding if upload is not None and upload.fingerprint == fingerprint else None


def pixel_count(data: bytes) -> float:
    """Read the number of pixels from an image's header; 0 if it has no valid header (decoding then reports why)."""
    if data[4:8] == b"ftyp":
        register_heic()
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            return math.prod(image.size)
    except Image.DecompressionBombError:
        return math.inf
    except Exception:  # Pillow's plug-ins raise nearly anything on damaged data
        return 0
