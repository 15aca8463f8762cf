"""A folder of images as a searchable collection.

    with Library.open("holiday.library", bundle="mine") as library:
        report = library.update(["~/Images"])               # new and changed images are told, gone ones forgotten
        for found in library.search("two dogs on a beach", k=20):
            print(found.relevance, found.matches, found.image.path, found.image.caption)

**On disk** a library is a folder: `library.db` (SQLite, the truth: images, files, captions, tags, descriptions,
embeddings, and an FTS5 index of all words), `edits.jsonl` (what people wrote, a line each, so that no damage to the
database can lose it), `lock` (held while somebody indexes), and for large libraries `vectors-….usearch`, a cache that
can be deleted at any time. One that is opened as `milvus://host:port/name` has its folder among the user's data, and a
Milvus server in the place of that cache (`served.py`).

**An image** is a content, known by the hash of its bytes; it has one file or several, and an `id` that stays when
files are moved. `LibraryImage` is what is known of it, as a frozen dataclass.

**The interface**, all of it on one class, `Library`. Threads may share an object: any number of readers, and one
`update`, `reindex` or `rebuild` at a time on the whole machine (a second one gets a `LibraryError`); `edit` may be
called at any time. Readers see whole batches only, a few seconds after they are done.

    Library.open(path=None, *, bundle=None, create=True, mend=False, threads=None)     context manager; also .close()
    library.info()                                     → Info        counts, folders, bundle, size; cheap
    library.update(folders=None, *, progress, stop, ray=None)
                                                       → Report      no folders: all that it has already
    library.reindex(bundle, *, progress, stop)         → Report      to another bundle; the old one serves until the end
    library.watch(folders, *, alerts, every, stop)     → iterator of Sighting and Report
    library.forget(folder)                             → int         images forgotten; their files are not touched

    library.search(text="", *, like=None, tags=(), not_tags=(), folder=None, since=None, k=10, rank="together")
                                                       → Results     a sequence of Found; .unknown, .matching
    library.neighbours(id, k=10)                       → Results
    library.get(id) → LibraryImage      library.find(path) → LibraryImage | None      library.images(offset, limit, …) → list
    library.count(tags=…)                             → int         images that the filters let through
    library.tags()                                     → list[TagCount]
    library.duplicates()                               → list[tuple[LibraryImage, ...]]
    library.edit(id, caption=…, tags=…)                → LibraryImage     kept and searchable; "" or None: the model's again
    library.describe(table)                            → Imported    descriptions from a CSV, TSV or JSON lines
    library.calibrate(judgements=())                   → Calibration
    library.export(out, kind)                          → int         "csv", "jsonl", or "xmp" files beside the images
    library.model                                      → the opened bundle, for captions with attention of any image
    library.verify() → list of what is wrong           Library.rebuild(path) → what of a damaged one can be had

`progress` is a `seetell.progress.Progress`; `stop` a `threading.Event`: set it, and what is done is kept.

**Relevance** (`relevance.py`) is the probability that an image is what was asked for; `matches` says that it is at
least one half. `search` always gives k rows if there are so many images, best first; to show only what matches, and
"nothing here matches" when `results.matching` is empty, is the caller's part.
"""

from seetell.library.library import Library
from seetell.library.paths import library_folder
from seetell.library.records import (
    MATCHES,
    DamagedError,
    Found,
    Imported,
    Info,
    LibraryError,
    LibraryImage,
    Problem,
    Report,
    Results,
    Sighting,
    TagCount,
)
from seetell.library.search.relevance import Calibration

__all__ = [
    "MATCHES",
    "Calibration",
    "DamagedError",
    "Found",
    "Imported",
    "Info",
    "Library",
    "LibraryError",
    "LibraryImage",
    "Problem",
    "Report",
    "Results",
    "Sighting",
    "TagCount",
    "library_folder",
]
