"""A folder of pictures as a searchable collection.

    with Library.open("holiday.library", bundle="mine") as library:
        report = library.update(["~/Pictures"])               # new and changed pictures are told, gone ones forgotten
        for found in library.search("two dogs on a beach", k=20):
            print(found.relevance, found.matches, found.picture.path, found.picture.caption)

**On disk** a library is a folder: `library.db` (SQLite, the truth: pictures, files, captions, tags, descriptions,
embeddings, and an FTS5 index of all words), `edits.jsonl` (what people wrote, a line each, so that no damage to the
database can lose it), `lock` (held while somebody indexes), and for large libraries `vectors-….usearch`, a cache that
can be deleted at any time. One that is opened as `milvus://host:port/name` has its folder among the user's data, and a
Milvus server in the place of that cache (`served.py`).

**A picture** is a content, known by the hash of its bytes; it has one file or several, and an `id` that stays when
files are moved. `Picture` is what is known of it, as a frozen dataclass.

**The interface**, all of it on one class, `Library`. Threads may share an object: any number of readers, and one
`update`, `reindex` or `rebuild` at a time on the whole machine (a second one gets a `LibraryError`); `edit` may be
called at any time. Readers see whole batches only, a few seconds after they are done.

    Library.open(path=None, *, bundle=None, create=True, mend=False, threads=None)     context manager; also .close()
    library.info()                                     → Info        counts, folders, bundle, size; cheap
    library.update(folders=None, *, progress, stop, ray=None)
                                                       → Report      no folders: all that it has already
    library.reindex(bundle, *, progress, stop)         → Report      to another bundle; the old one serves until the end
    library.watch(folders, *, alerts, every, stop)     → iterator of Sighting and Report
    library.forget(folder)                             → int         pictures forgotten; their files are not touched

    library.search(text="", *, like=None, tags=(), not_tags=(), folder=None, since=None, k=10, rank="together")
                                                       → Results     a sequence of Found; .unknown, .matching
    library.neighbours(id, k=10)                       → Results
    library.get(id) → Picture      library.find(path) → Picture | None      library.pictures(offset, limit, …) → list
    library.count(tags=…)                             → int         pictures that the filters let through
    library.tags()                                     → list[TagCount]
    library.duplicates()                               → list[tuple[Picture, ...]]
    library.edit(id, caption=…, tags=…)                → Picture     kept and searchable; "" or None: the model's again
    library.describe(table)                            → Imported    descriptions from a CSV, TSV or JSON lines
    library.calibrate(judgements=())                   → Calibration
    library.export(out, kind)                          → int         "csv", "jsonl", or "xmp" files beside the pictures
    library.suite                                      → the opened bundle, for captions with attention of any picture
    library.verify() → list of what is wrong           Library.rebuild(path) → what of a damaged one can be had

`progress` is a `seetell.progress.Progress`; `stop` a `threading.Event`: set it, and what is done is kept.

**Relevance** (`relevance.py`) is the probability that a picture is what was asked for; `matches` says that it is at
least one half. `search` always gives k rows if there are so many pictures, best first; to show only what matches, and
"nothing here matches" when `results.matching` is empty, is the caller's part.
"""

from seetell.library.library import Library
from seetell.library.places import library_folder
from seetell.library.records import (
    MATCHES,
    DamagedError,
    Found,
    Imported,
    Info,
    LibraryError,
    Picture,
    Problem,
    Report,
    Results,
    Sighting,
    TagCount,
)
from seetell.library.relevance import Calibration

__all__ = [
    "MATCHES",
    "Calibration",
    "DamagedError",
    "Found",
    "Imported",
    "Info",
    "Library",
    "LibraryError",
    "Picture",
    "Problem",
    "Report",
    "Results",
    "Sighting",
    "TagCount",
    "library_folder",
]
