"""One `Filters` for searching, listing, counting and tags."""

import dataclasses
import os
from pathlib import Path

import pytest

from seetell.library import Filters, Library, LibraryError


def test_values_are_normalised() -> None:
    filters = Filters(tags=["a", "b"], folder=Path("~/photos"))
    assert filters.tags == ("a", "b")
    assert filters.folder == os.path.join(os.path.expanduser("~"), "photos")
    assert filters == Filters(tags=("a", "b"), folder=filters.folder)
    assert hash(filters) == hash(dataclasses.replace(filters))
    assert not Filters()
    assert Filters(since=0.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        filters.tags = ()  # type: ignore[misc]


@pytest.mark.parametrize("name", ["tags", "not_tags"])
def test_a_text_is_not_a_list_of_tags(name: str) -> None:
    with pytest.raises(LibraryError, match=rf"{name} is a list.*Write {name}=\['beach'\]"):
        Filters(**{name: "beach"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda photos: Filters(), {"red", "green", "blue"}),
        (lambda photos: Filters(tags=["RED"]), {"red"}),
        (lambda photos: Filters(not_tags=["red"]), {"green", "blue"}),
        (lambda photos: Filters(folder=photos / "blue"), {"blue"}),
        (lambda photos: Filters(tags=["red"], folder=photos / "blue"), set()),
        (lambda photos: Filters(since=4e9), set()),
    ],
)
def test_the_same_images_everywhere(library: Library, photos: Path, make: object, expected: set[str]) -> None:
    filters = make(photos)  # type: ignore[operator]
    assert {image.labels[0] for image in library.images(filters)} == expected
    assert {hit.image.labels[0] for hit in library.browse(filters)} == expected
    assert {hit.image.labels[0] for hit in library.search("red", filters, k=12)} == expected
    assert library.count(filters) == 4 * len(expected)
    assert {each.label: each.images for each in library.tags(filters)} == dict.fromkeys(expected, 4)
