"""What every reader yields: an image, what is said about it, and the split it belongs to."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from seetell.errors import ImageError

NO_SUCH_FILE = "there is no such file"


class ImageSource(Protocol):
    """What a record points at: a file, or something that draws itself."""

    @property
    def name(self) -> str:
        """How reports call it; for a file, its path."""
        ...

    def read(self) -> bytes:
        """The encoded image's bytes (JPEG, PNG, …); ImageError when they cannot be had."""
        ...


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image on disk. Nothing is touched until it is read."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path)

    def read(self) -> bytes:
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):  # reading from a pipe would wait for ever
                raise ImageError("it is not a file", where=self.name)
            return self.path.read_bytes()
        except FileNotFoundError:
            raise ImageError(NO_SUCH_FILE, where=self.name) from None
        except (OSError, ValueError) as error:  # ValueError: a path with a null character
            reason = getattr(error, "strerror", None) or str(error)
            raise ImageError(f"it cannot be read ({reason})", where=self.name) from None


@dataclass(frozen=True, slots=True)
class Box:
    """Where a labelled thing is, in fractions of the image's width and height, from its top left corner."""

    label: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Record:
    """One image of a dataset.

    Args:
        key: names the record within its dataset, and never changes while the dataset does not.
        image: where the image comes from.
        captions: any number, as written; tokenizing them is the vocabulary's business.
        labels: each once, in the dataset's order of classes or, where it has none, alphabetically.
        split: "train", "val", "test", "extra", another name that a table gave, or "" when it is in none.
        boxes: where things are, when the dataset knows; the same label may come many times.
    """

    key: str
    image: ImageSource
    captions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    split: str = ""
    boxes: tuple[Box, ...] = ()
