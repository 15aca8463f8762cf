"""Library images as the API presents them."""

import os
from typing import Any

from seetell.library import LibraryImage, SearchHit
from seetell.library.export import printable
from seetell.web.schemas import HitResponse, ImageResponse, TagResponse

__all__ = ["ImagePresenter", "content_version", "file_name", "printable"]


class ImagePresenter:
    """Turns library images into responses.

    Args:
        folders: the library's folders; without full paths, files are shown relative to them.
        full_paths: whether the client may see full paths.
    """

    def __init__(self, folders: tuple[str, ...], *, full_paths: bool) -> None:
        self._folders, self._full_paths = folders, full_paths

    def image(self, image: LibraryImage) -> ImageResponse:
        return ImageResponse(**self._fields(image))

    def hit(self, hit: SearchHit) -> HitResponse:
        return HitResponse(
            **self._fields(hit.image),
            relevance=round(hit.relevance, 6),
            matches=hit.matches,
            matched_words=list(hit.words),
        )

    def folder(self, path: str) -> str:
        return printable(path if self._full_paths else os.path.basename(path))

    def _fields(self, image: LibraryImage) -> dict[str, Any]:
        return {
            "id": image.id,
            "version": content_version(image),
            "caption": image.caption,
            "tags": [TagResponse(label=tag.label, confidence=round(tag.confidence, 4)) for tag in image.tags],
            "description": image.description,
            "edited": sorted(image.edited),
            "name": file_name(image),
            "files": [self._file(path) for path in image.files],
            "width": image.width,
            "height": image.height,
            "bytes": image.bytes,
            "taken": image.taken,
        }

    def _file(self, path: str) -> str:
        if self._full_paths:
            return printable(path)
        for folder in self._folders:
            if path.startswith(folder + os.sep):
                return printable(os.path.relpath(path, os.path.dirname(folder)))
        return printable(os.path.basename(path))


def content_version(image: LibraryImage) -> str:
    """A short hash of the image's content, for cacheable URLs."""
    return image.hash[:16]


def file_name(image: LibraryImage) -> str:
    """The name of the image's first file, as printable text."""
    return printable(os.path.basename(image.path))
