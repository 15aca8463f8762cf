"""The class `Library`: the one interface for Python, the command line and the web page.

Searching and listing are in `queries.py`.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from seetell.bundle import find_bundle
from seetell.library import descriptions, export
from seetell.library.current_model import CurrentModel
from seetell.library.indexing.indexer import Indexer
from seetell.library.location import library_folder, parse_server
from seetell.library.opening import index_maker, open_database
from seetell.library.queries import LibraryQueries
from seetell.library.records import AlertMatch, ImportReport, LibraryImage, Report
from seetell.library.search.relevance import Calibration
from seetell.library.search.searcher import Searcher
from seetell.library.search.vector_index import EXACT_LIMIT, VectorIndex
from seetell.library.storage import edits, integrity, repair
from seetell.library.storage.database import Database
from seetell.library.storage.edits import UNCHANGED, Unchanged
from seetell.progress import SILENT, Progress
from seetell.runtime import Model

AnyPath = str | os.PathLike[str]


class Library(LibraryQueries):
    """A searchable collection of images; opened with `Library.open`.

    Threads may share it: any number of them may read, and one at a time, on the whole machine, may run `update`,
    `reindex` or `rebuild`. `edit` may be called at any time.

    Example:
        >>> with Library.open("holiday.library") as library:
        ...     report = library.update(["PHOTOS"])
        ...     for hit in library.search("a red thing").matching:
        ...         print(hit.image.caption)
        a red thing
    """

    def __init__(self, database: Database, model: CurrentModel, index: VectorIndex, rebuilt: str = "") -> None:
        super().__init__(database, Searcher(database, model, index))
        self.path, self.rebuilt = database.folder, rebuilt
        self._model, self._index = model, index
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
            >>> with Library.open("new.library", model="builtin") as library:
            ...     library.info().images
            0
        """
        folder, server = library_folder(path), parse_server(path)
        named = None if model is None else find_bundle(model)
        make_index = index_maker(server, exact_limit)
        database, rebuilt = open_database(folder, create=create, check=repair)
        try:
            return cls(database, CurrentModel(database, named, threads), make_index(database), rebuilt)
        except BaseException:
            database.close()
            raise

    @staticmethod
    def rebuild(path: AnyPath | None = None) -> str:
        """Rebuild the database of a damaged library; returns what was recovered, in words.

        Args:
            path: as for `open`.

        Example:
            >>> Library.rebuild("holiday.library")
            '3 images, and the edits of 0; the damaged database is kept in ...'
        """
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
            >>> with library.use_model() as model:
            ...     print(model.captioner("PHOTOS/red.png").text)
            a red thing
        """
        return self._model.use()

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
            >>> report = library.update(["PHOTOS"])
            >>> report.indexed, report.moved, report.unchanged, report.removed
            (0, 0, 3, 0)
        """
        return self._indexer.update(folders, progress, stop or threading.Event(), ray)

    def reindex(self, model: AnyPath, *, progress: Progress = SILENT, stop: threading.Event | None = None) -> Report:
        """Move the library to another model. The old one is used until all images are encoded by the new one.

        Args:
            model: its name or folder.
            progress: reports how far it is.
            stop: set it from another thread to stop; called again, it resumes.

        Example:
            >>> library.reindex("other").indexed
            3
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
            stop: set it from another thread to stop.
            progress: reports how far each update is.

        Example:
            >>> stop = threading.Event()
            >>> for event in library.watch(["PHOTOS", "NEW"], stop=stop):
            ...     print(event.indexed)
            ...     stop.set()
            1
        """
        return self._indexer.watch(folders, alerts, every, stop or threading.Event(), progress)

    def forget(self, folder: AnyPath) -> int:
        """Remove a folder and its images from the library; returns how many images. The files are not touched.

        Args:
            folder: one of the library's folders, or a folder inside one.

        Example:
            >>> library.forget("PHOTOS")
            3
        """
        return self._indexer.forget(folder)

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
            >>> library.edit(1, caption="Grandma's birthday", tags=["grandma", "Lyon"]).labels
            ('Lyon', 'grandma')
        """
        return edits.edit(self._database, image_id, caption, tags)

    def import_descriptions(self, table: AnyPath, *, images: AnyPath | None = None) -> ImportReport:
        """Take descriptions from a CSV, TSV or JSON lines file; they are searched like captions.

        Args:
            table: with a column for the file, and columns for captions or tags.
            images: the folder that file names are relative to; that of the table by default.

        Example:
            >>> report = library.import_descriptions("table.csv", images="PHOTOS")
            >>> report.described, report.missing
            (2, 1)
        """
        return descriptions.import_descriptions(self._database, Path(table), None if images is None else Path(images))

    def export(self, path: AnyPath | None, kind: str) -> int:
        """Write all images as a table, or as XMP files next to the images; returns how many rows or files.

        Args:
            path: of the file; None for XMP.
            kind: "csv", "jsonl" or "xmp". Existing XMP files are not overwritten.

        Example:
            >>> library.export("captions.csv", "csv")
            3
        """
        return export.export(export.all_images(self._database), None if path is None else Path(path), kind)

    def calibrate(self, judgements: Sequence[tuple[str, int, bool]] = ()) -> Calibration:
        """Fit what a relevance means to a person's judgements, or else to the library's own texts.

        Args:
            judgements: tuples of a text, an image's id, and whether they match.

        Example:
            >>> library.calibrate([("red", 3, True), ("red", 1, False)]).how
            'judged'
        """
        return self._searcher.calibrate(judgements)

    def check(self) -> list[str]:
        """Everything that is wrong with the library; empty if it is intact.

        Example:
            >>> library.check()
            []
        """
        with self._database.write() as connection:  # SQLite checks full-text indexes by writing to them
            problems = integrity.problems(connection)
        return problems or self._index.problems()
