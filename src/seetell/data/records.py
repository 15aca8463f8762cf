"""The record that every reader yields: an image, its captions and labels, and its split."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from seetell.errors import ImageError

NO_SUCH_FILE = "there is no such file"


class ImageSource(Protocol):
    """The image of a record: a file, or an image that is drawn on demand."""

    @property
    def name(self) -> str:
        """Its name in reports; for a file, its path."""
        ...

    def read(self) -> bytes:
        """The encoded image (JPEG, PNG, …); raises `ImageError` if it cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file, opened only when it is read."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    def read(self) -> bytes:
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):  # reading from a pipe would never end
                raise ImageError("it is not a file", where=self.name)
            return self.path.read_bytes()
        except FileNotFoundError:
            raise ImageError(NO_SUCH_FILE, where=self.name) from None
        except (OSError, ValueError) as error:  # ValueError: a path with a null character
            reason = getattr(error, "strerror", None) or str(error)
            raise ImageError(f"it cannot be read ({reason})", where=self.name) from None


@dataclass(frozen=True, slots=True)
class Box:
    """The bounding box of an object, in fractions of the image's width and height, from its top left corner."""

    label: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Record:
    """One image of a dataset.

    Args:
        key: identifies the record within its dataset; stable as long as the dataset is.
        image: the image.
        captions: any number, as written, not tokenized.
        labels: each once, in the dataset's order of classes, or alphabetically if it has none.
        split: "train", "val", "test", "extra", another name from a table, or "" for none.
        boxes: bounding boxes of objects, if the dataset has them; labels may repeat.
    """

    key: str
    image: ImageSource
    captions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    split: str = ""
    boxes: tuple[Box, ...] = ()
