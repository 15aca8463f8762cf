"""The class `Library`: the one interface for Python, the command line and the web page."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from seetell.library import descriptions, export
from seetell.library.current_model import CurrentModel
from seetell.library.filters import NO_FILTERS, Filters
from seetell.library.indexing.indexer import Indexer
from seetell.library.location import library_folder, parse_server
from seetell.library.opening import index_maker, open_database
from seetell.library.records import (
    AlertMatch,
    ImportReport,
    Info,
    LibraryImage,
    Report,
    SearchResults,
    TagCount,
)
from seetell.library.search import duplicates, query
from seetell.library.search.filtering import condition
from seetell.library.search.relevance import Calibration
from seetell.library.search.searcher import Rank, Searcher
from seetell.library.search.vector_index import EXACT_LIMIT, VectorIndex
from seetell.library.storage import edits, integrity, repair, rows
from seetell.library.storage.database import Database
from seetell.library.storage.edits import UNCHANGED, Unchanged
from seetell.library.storage.summary import summarise
from seetell.progress import SILENT, Progress
from seetell.runtime import Embedding, ImageLike, Model

AnyPath = str | os.PathLike[str]


class Library:
    """A searchable collection of images; opened with `Library.open`.

    Threads may share it: any number of them may read, and one at a time, on the whole machine, may run `update`,
    `reindex` or `rebuild`. `edit` may be called at any time.

    Example:
        with Library.open("holiday.library") as library:
            library.update(["~/Pictures"])
            for hit in library.search("two dogs on a beach").matching:
                print(hit.relevance, hit.image.path, hit.image.caption)
    """

    def __init__(self, database: Database, model: CurrentModel, index: VectorIndex, rebuilt: str = "") -> None:
        self.path, self.rebuilt = database.folder, rebuilt
        self._database, self._model, self._index = database, model, index
        self._searcher = Searcher(database, model, index)
        self._indexer = Indexer(database, model, index, self._searcher, rebuilt)

    @classmethod
    def open(
        cls,
        path: AnyPath | None = None,
        *,
        model: AnyPath | None = None,
        create: bool = True,
        repair: bool = False,
        threads: int | None = None,
        exact_limit: int = EXACT_LIMIT,
    ) -> Self:
        """Open a library, or create it. One made by an earlier version is migrated.

        Args:
            path: its folder, or `milvus://host:port/name`; the user's own library by default (`library_folder`).
            model: a model's name or folder. A library keeps the model of its first update; naming another is refused.
            create: create the library if there is none.
            repair: check the database, and rebuild it if it is damaged; `rebuilt` then says what was recovered. A
                large one is only checked if the last update was killed.
            threads: how many batches of images are encoded at once; one per core by default.
            exact_limit: how many numbers all embeddings together may have for every image to be compared in a search.

        Example:
            library = Library.open("holiday.library", model="builtin")
        """
        folder, server = library_folder(path), parse_server(path)
        make_index = index_maker(server, exact_limit)
        database, rebuilt = open_database(folder, create=create, check=repair)
        try:
            return cls(database, CurrentModel(database, model, threads), make_index(database), rebuilt)
        except BaseException:
            database.close()
            raise

    @staticmethod
    def rebuild(path: AnyPath | None = None) -> str:
        """Rebuild the database of a damaged library; returns what was recovered, in words."""
        return repair.rebuild(library_folder(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Library({str(self.path)!r})"

    def close(self) -> None:
        """Close the database and the model."""
        self._model.close()
        self._index.close()
        self._database.close()

    @property
    def model(self) -> Model:
        """The library's model, opened. It is closed with the library, or when a reindex has replaced it."""
        return self._model.model

    def use_model(self) -> AbstractContextManager[Model]:
        """The library's model for the duration of a block, in which no reindex closes it.

        Example:
            with library.use_model() as model:
                print(model.captioner("photo.jpg").text)
        """
        return self._model.use()

    def info(self) -> Info:
        """Counts, folders, model and size of the library.

        Example:
            print(library.info().images)
        """
        return summarise(self._database)

    def update(
        self,
        folders: Sequence[AnyPath] | None = None,
        *,
        progress: Progress = SILENT,
        stop: threading.Event | None = None,
        ray: str | None = None,
    ) -> Report:
        """Index new and changed images in folders, and forget those that are gone.

        Args:
            folders: which are then part of the library; all of the library's folders by default.
            progress: reports how far it is.
            stop: set it from another thread to stop; finished work is kept.
            ray: the address of a Ray cluster that encodes new images; "" for `$RAY_ADDRESS`, or one on this computer.

        Example:
            report = library.update(["~/Pictures"])
            print(report.indexed, "new,", report.moved, "moved,", report.removed, "removed")
        """
        return self._indexer.update(folders, progress, stop or threading.Event(), ray)

    def reindex(self, model: AnyPath, *, progress: Progress = SILENT, stop: threading.Event | None = None) -> Report:
        """Move the library to another model. The old one is used until all images are encoded by the new one.

        Args:
            model: its name or folder.
            progress: reports how far it is.
            stop: set it from another thread to stop; called again, it resumes.

        Example:
            library.reindex("better")
        """
        return self._indexer.reindex(model, progress, stop or threading.Event())

    def watch(
        self,
        folders: Sequence[AnyPath],
        *,
        alerts: Sequence[str] = (),
        every: float = 2.0,
        stop: threading.Event | None = None,
        progress: Progress = SILENT,
    ) -> Iterator[AlertMatch | Report]:
        """Keep the library up to date until `stop` is set.

        Gives the report of each update that changed something, after an `AlertMatch` for each new image that matches
        an alert. Images in a folder that is watched for the first time are not new.

        Args:
            folders: to watch.
            alerts: texts that new images are compared with.
            every: seconds between two updates.

        Example:
            for event in library.watch(["~/Camera"], alerts=["a person climbing a fence"]):
                print(event)
        """
        return self._indexer.watch(folders, alerts, every, stop or threading.Event(), progress)

    def forget(self, folder: AnyPath) -> int:
        """Remove a folder and its images from the library; the files are not touched. Returns how many images."""
        return self._indexer.forget(folder)

    def search(
        self,
        text: str = "",
        filters: Filters = NO_FILTERS,
        *,
        like: ImageLike | Embedding | int | None = None,
        k: int = 10,
        rank: Rank = "together",
    ) -> SearchResults:
        """The k most relevant images, best first; as many as there are, whether or not they match.

        Args:
            text: a sentence or words.
            filters: only images that pass are searched.
            like: an image, its embedding by the library's model, or the id of an image in the library, that the
                results should be similar to.
            k: how many.
            rank: "together" ranks by embedding and words, "embedding" by the embedding alone.

        Example:
            results = library.search("a red car", Filters(tags=["street"]), k=20)
            for hit in results.matching:
                print(hit.relevance, hit.image.path)
        """
        return self._searcher.search(text, filters, like=like, k=k, rank=rank)

    def similar(self, image_id: int, k: int = 10) -> SearchResults:
        """The k images most similar to one in the library."""
        return self.search(like=image_id, k=k)

    def get(self, image_id: int) -> LibraryImage:
        """The image with this id; raises `LibraryError` if there is none."""
        with self._database.read() as connection:
            return rows.image(connection, image_id)

    def find(self, path: AnyPath) -> LibraryImage | None:
        """The image of a file, or None if the library does not have it."""
        with self._database.read() as connection:
            name = os.fsencode(os.path.abspath(path))
            row = connection.execute("SELECT image FROM files WHERE path = ?", (name,)).fetchone()
            return rows.image(connection, row[0]) if row and row[0] else None

    def images(self, filters: Filters = NO_FILTERS, *, offset: int = 0, limit: int = 50) -> list[LibraryImage]:
        """The images that pass the filters: most confident tags first, then the newest.

        Example:
            library.images(Filters(tags=["beach"]), limit=10)
        """
        return [hit.image for hit in self.browse(filters, offset=offset, limit=limit)]

    def browse(self, filters: Filters = NO_FILTERS, *, offset: int = 0, limit: int = 50) -> SearchResults:
        """Like `images`, with the model's confidence in the tags as relevance."""
        with self._database.read() as connection:
            return query.browse(connection, filters, limit, offset)

    def count(self, filters: Filters = NO_FILTERS) -> int:
        """How many images pass the filters."""
        where, values = condition(filters)
        with self._database.read() as connection:
            return int(connection.execute(f"SELECT count(*) FROM images i WHERE {where}", values).fetchone()[0])

    def tags(self, filters: Filters = NO_FILTERS) -> list[TagCount]:
        """The tags of all images that pass the filters, the most frequent first."""
        where, values = condition(filters)
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT t.label, count(*) FROM tags t JOIN images i ON i.id = t.image WHERE {where} "
                "GROUP BY t.label ORDER BY count(*) DESC, t.label",
                values,
            )
            return [TagCount(*row) for row in found]

    def content_hashes(self) -> frozenset[str]:
        """The hashes of all images."""
        with self._database.read() as connection:
            return frozenset(row[0].hex() for row in connection.execute("SELECT hash FROM images"))

    def duplicates(self, bits: int = duplicates.MAX_BITS) -> list[tuple[LibraryImage, ...]]:
        """Groups of near-duplicates, the largest image of each first; a single image if it has several files.

        Args:
            bits: of 64 bits of the difference hash, how many may differ.
        """
        with self._database.read() as connection:
            return duplicates.duplicates(connection, bits)

    def edit(
        self,
        image_id: int,
        *,
        caption: str | Unchanged | None = UNCHANGED,
        tags: Sequence[str] | Unchanged | None = UNCHANGED,
    ) -> LibraryImage:
        """Replace the caption or the tags of an image by a person's; they are searched, and survive a reindex.

        Args:
            image_id: of the image.
            caption: None or "" restores the model's.
            tags: None restores the model's.

        Example:
            library.edit(7, caption="Grandma's birthday", tags=["grandma", "Lyon"])
        """
        return edits.edit(self._database, image_id, caption, tags)

    def import_descriptions(self, table: AnyPath, *, images: AnyPath | None = None) -> ImportReport:
        """Take descriptions from a CSV, TSV or JSON lines file; they are searched like captions.

        Args:
            table: with a column for the file, and columns for captions or tags.
            images: the folder that file names start from; that of the table by default.
        """
        return descriptions.import_descriptions(self._database, Path(table), None if images is None else Path(images))

    def export(self, path: AnyPath | None, kind: str) -> int:
        """Write all images as a table, or as XMP files next to the images; returns how many rows or files.

        Args:
            path: of the file; None for XMP.
            kind: "csv", "jsonl" or "xmp".
        """
        return export.export(export.all_images(self._database), None if path is None else Path(path), kind)

    def calibrate(self, judgements: Sequence[tuple[str, int, bool]] = ()) -> Calibration:
        """Fit what a relevance means to a person's judgements, or else to the library's own texts.

        Args:
            judgements: a text, an image's id, and whether they match, each.

        Example:
            library.calibrate([("a red car", 12, True), ("a red car", 13, False)])
        """
        return self._searcher.calibrate(judgements)

    def check(self) -> list[str]:
        """Everything that is wrong with the library; empty if it is sound."""
        with self._database.write() as connection:  # SQLite checks full-text indexes by writing to them
            problems = integrity.problems(connection)
        return problems or self._index.problems()
