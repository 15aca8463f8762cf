"""What the API answers with."""

import os
from typing import Any, Literal

from pydantic import BaseModel, Field

from seetell.library import Found, LibraryImage
from seetell.library.exporting import shown
from seetell.web.uploads import Label

Edited = Literal["caption", "tags"]


class Problem(BaseModel):
    """Why there is no answer, and what to do about it."""

    problem: str
    remedy: str = ""


class ImageAnswer(BaseModel):
    """An image of the library."""

    id: int
    version: str = Field(description="Of the content; with `?v=` in its address a copy may be kept for ever.")
    caption: str
    tags: list[Label]
    description: str = Field(description="What people wrote of it elsewhere: in the file itself, in tables.")
    edited: list[Edited] = Field(description="What a person wrote here.")
    name: str
    files: list[str]
    width: int
    height: int
    bytes: int
    taken: float = Field(description="When, in seconds since 1970.")


class FoundAnswer(ImageAnswer):
    """An image that was found."""

    relevance: float = Field(description="The probability that it is what was asked for.")
    matches: bool = Field(description="Whether that is at least one half.")
    words: list[str] = Field(description="The words of the question that are among its own.")


class SearchAnswer(BaseModel):
    """What was found, best first. Rows that do not match are there, too: `matches` tells them apart."""

    rows: list[FoundAnswer]
    total: int = Field(description="How many images the filters let through.")
    more: bool = Field(description="Whether there are further rows.")
    unknown: list[str] = Field(description="Words that neither the model nor any image knows.")


class TagAnswer(BaseModel):
    """A tag, and how many images have it."""

    label: str
    images: int


class LibraryAnswer(BaseModel):
    """The library at a glance, and what its bundle can do."""

    images: int
    files: int
    unreadable: int
    edited: int
    folders: list[str]
    bundle: str
    kinds: list[str]
    version: str


class Edit(BaseModel):
    """What a person says of an image. What is left out stays; null gives the model's back."""

    caption: str | None = Field(None, max_length=4_000)
    tags: list[str] | None = Field(None, max_length=200)


class Describes:
    """Images as answers.

    Args:
        folders: what the library looks after; files are named from there on.
        whole_paths: whether whoever asks may know where on the disk a file lies.
    """

    def __init__(self, folders: tuple[str, ...], *, whole_paths: bool) -> None:
        self._folders, self._whole = folders, whole_paths

    def image(self, image: LibraryImage) -> ImageAnswer:
        return ImageAnswer(**self._fields(image))

    def found(self, found: Found) -> FoundAnswer:
        return FoundAnswer(
            **self._fields(found.image),
            relevance=round(found.relevance, 6),
            matches=found.matches,
            words=list(found.words),
        )

    def folder(self, path: str) -> str:
        return shown(path if self._whole else os.path.basename(path))

    def _fields(self, image: LibraryImage) -> dict[str, Any]:
        return {
            "id": image.id,
            "version": version(image),
            "caption": image.caption,
            "tags": [Label(label=tag.label, confidence=round(tag.confidence, 4)) for tag in image.tags],
            "description": image.description,
            "edited": sorted(image.edited),
            "name": shown(os.path.basename(image.path)),
            "files": [self._file(path) for path in image.files],
            "width": image.width,
            "height": image.height,
            "bytes": image.bytes,
            "taken": image.taken,
        }

    def _file(self, path: str) -> str:
        if not self._whole:
            for folder in self._folders:
                if path.startswith(folder + os.sep):
                    return shown(os.path.relpath(path, os.path.dirname(folder)))
            return shown(os.path.basename(path))
        return shown(path)


def version(image: LibraryImage) -> str:
    return image.hash[:16]
