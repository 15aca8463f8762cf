"""A library makes folders of images searchable.

    from seetell.library import Filters, Library

    with Library.open("holiday.library") as library:
        library.update(["~/Pictures"])                      # encodes new and changed images, forgets missing ones
        for hit in library.search("two dogs on a beach", Filters(not_tags=["person"]), k=20):
            print(hit.relevance, hit.matches, hit.image.path, hit.image.caption)

An image is a content, identified by the hash of its bytes; it has one file or several, and an `id` that stays the same
when files are moved. `LibraryImage` has everything that is known about it. The `relevance` of a hit is the probability
that the image is what was searched for (`search/relevance.py`); it `matches` if that is at least one half.

On disk, a library is a folder: `library.db` (SQLite: images, files, captions, tags, descriptions, embeddings and the
full-text index), `edits.jsonl` (a journal of what people wrote, so that no damage to the database can lose it), `lock`
(held during an update), and for large libraries `vectors-….usearch`, a cache that can be deleted at any time. A library
opened as `milvus://host:port/name` has its folder in the user's data folder, and a Milvus server instead of that cache.
"""

from seetell.errors import LibraryError
from seetell.files import Problem
from seetell.library.filters import Filters
from seetell.library.library import Library
from seetell.library.location import library_folder
from seetell.library.records import (
    MATCH_THRESHOLD,
    AlertMatch,
    DamagedError,
    ImportReport,
    Info,
    LibraryImage,
    Report,
    SearchHit,
    SearchResults,
    TagCount,
)
from seetell.library.search.relevance import Calibration
from seetell.library.storage.edits import UNCHANGED

__all__ = [
    "MATCH_THRESHOLD",
    "UNCHANGED",
    "AlertMatch",
    "Calibration",
    "DamagedError",
    "Filters",
    "ImportReport",
    "Info",
    "Library",
    "LibraryError",
    "LibraryImage",
    "Problem",
    "Report",
    "SearchHit",
    "SearchResults",
    "TagCount",
    "library_folder",
]
