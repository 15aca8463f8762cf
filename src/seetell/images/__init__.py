"""Images in: safe decoding into upright RGB, and the one way in which pixels become what a network reads."""

from seetell.images.decode import IMAGE_SUFFIXES, Source, decode, image_name, is_image_name
from seetell.images.preparation import Preparation

__all__ = ["IMAGE_SUFFIXES", "Preparation", "Source", "decode", "image_name", "is_image_name"]
