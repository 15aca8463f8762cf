"""Images: safe decoding into upright RGB, and the preparation of pixels for a network."""

from seetell.images.decode import (
    IMAGE_SUFFIXES,
    Source,
    decode,
    image_name,
    is_image_name,
    is_open_file,
    read_open_file,
    register_heic,
)
from seetell.images.preparation import Preparation

__all__ = [
    "IMAGE_SUFFIXES",
    "Preparation",
    "Source",
    "decode",
    "image_name",
    "is_image_name",
    "is_open_file",
    "read_open_file",
    "register_heic",
]
