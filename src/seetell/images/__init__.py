"""Pictures in: safe decoding into upright RGB, and the one way in which pixels become what a network reads."""

from seetell.images.decode import PICTURE_SUFFIXES, Source, decode, is_picture_name, picture_name
from seetell.images.preparation import Preparation

__all__ = ["PICTURE_SUFFIXES", "Preparation", "Source", "decode", "is_picture_name", "picture_name"]
