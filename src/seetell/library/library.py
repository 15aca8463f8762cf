"""The library: one class for the command line, for Python, and for the page. See the package's own words."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from seetell.bundle import Bundle, find_bundle
from seetell.library import exporting
from seetell.library.indexing import reindex as moving
from seetell.library.indexing import update as indexing
from seetell.library.models import Models
from seetell.library.paths import HOLDER, library_folder, server_of
from seetell.library.paths import indexing as only_indexer
from seetell.library.records import (
    DamagedError,
    Imported,
    Info,
    LibraryError,
    LibraryImage,
    Report,
    Results,
    Sighting,
    TagCount,
)
from seetell.library.search import calibrating, duplicates, words
from seetell.library.search.relevance import DEFAULT, Calibration
from seetell.library.search.searching import Filters, Floats, Question, folder_of, listed, search
from seetell.library.search.spaces import FEW, Spaces
from seetell.library.storage import checking, edits, store
from seetell.library.storage import folders as looked_after
from seetell.library.storage import repair as rescue
from seetell.library.storage.database import Database
from seetell.library.storage.edits import KEEP, Keep
from seetell.progress import SILENT, Progress
from seetell.runtime import Embedding, ImageLike, Model

AnyPath = str | os.PathLike[str]
Rank = Literal["together", "embedding"]
MOST_RESULTS = 10_000


class Library:
    """A searchable collection of images; made by `Library.open`."""

    def __init__(self, path: Path, database: Database, models: Models, spaces: Spaces) -> None:
        self.path, self.rebuilt = path, ""
        self._database, self._models, self._spaces = database, models, spaces

    @classmethod
    def open(
        cls,
        path: AnyPath | None = None,
        *,
        bundle: AnyPath | None = None,
        create: bool = True,
        mend: bool = False,
        threads: int | None = None,
        few: int = FEW,
    ) -> Self:
        """Open a library, or make one.

        Args:
            path: its folder, or `milvus://host:port/name`; the user's own library unless told.
            bundle: a bundle's name or folder; that of a library is settled with its first images.
            create: make the library if there is none.
            mend: look whether the database is whole, and rebuild it if it is not; `rebuilt` then says what was saved.
                One that is large is looked at only if the last indexer was killed.
            threads: how many batches of images are told at once.
            few: how many numbers all embeddings may have together while every one is compared.
        """
        folder, server = library_folder(path), server_of(path)
        rebuilt = ""
        if server is not None:  # before anything is made here
            from seetell.library.remote.milvus import Milvus
            from seetell.library.remote.served import ServedSpaces

            milvus = Milvus(server)
        try:
            database = Database(folder, create=create)
            if mend and (checking.is_quick(folder) or (folder / HOLDER).exists()):
                database.check()
        except DamagedError:
            if not mend:
                raise
            rebuilt = rescue.rebuild(folder)
            database = Database(folder)
        try:
            spaces = Spaces(database, few) if server is None else ServedSpaces(database, milvus)
            library = cls(folder, database, Models(database, bundle, threads), spaces)
        except BaseException:
            database.close()
            raise
        library.rebuilt = rebuilt
        return library

    @staticmethod
    def rebuild(path: AnyPath | None = None) -> str:
        """Make a damaged library's database anew; what was saved, in words."""
        return rescue.rebuild(library_folder(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._models.close()
        self._spaces.close()
        self._database.close()

    @property
    def model(self) -> Model:
        """The bundle that the library was made with, opened."""
        return self._models.model

    def info(self) -> Info:
        with self._database.read() as connection:
            row, coming = store.bundle_row(connection), store.bundle_row(connection, "coming")
            images, files, unreadable, edited = (
                connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
                for what in ("images", "files WHERE image IS NOT NULL", "files WHERE image IS NULL", "edits")
            )
            folders = tuple(looked_after.all_folders(connection))
        return Info(
            path=self.path,
            images=images,
            files=files,
            unreadable=unreadable,
            edited=edited,
            folders=folders,
            bundle=row.name if row else "",
            bundle_place=row.place if row else "",
            fingerprint=row.fingerprint if row else "",
            kinds=row.kinds if row else (),
            bytes=checking.size_on_disk(self.path),
            coming=coming.name if coming else "",
        )

    # Keeping it up to date

    def update(
        self,
        folders: Sequence[AnyPath] | None = None,
        *,
        progress: Progress = SILENT,
        stop: threading.Event | None = None,
        ray: str | None = None,
    ) -> Report:
        """Index what is new or changed in folders and forget what is gone; without folders, in all that it has.

        Args:
            ray: the address of a Ray cluster that encodes new images; "" for $RAY_ADDRESS, or one on this computer.
        """
        begin, stop = time.monotonic(), stop or threading.Event()
        with only_indexer(self.path):
            row = self._models.settle()
            self._spaces.accepts(row.fingerprint, row.similarity)
            with self._database.write() as connection:
                if folders is None:
                    roots = looked_after.all_folders(connection)
                else:
                    roots = looked_after.add(connection, folders)
            describe = None
            if ray is not None:
                from seetell.library.remote.ray import describer

                describe = describer(lambda: self.model.bundle, ray, stop)
            keep_up = self._spaces.keep_up
            report = indexing.update(self._database, lambda: self.model, roots, progress, stop, describe, keep_up)
            self._after_change(progress, stop)
        report.rebuilt, report.seconds = self.rebuilt, time.monotonic() - begin
        return report

    def reindex(self, bundle: AnyPath, *, progress: Progress = SILENT, stop: threading.Event | None = None) -> Report:
        """Move the library to another bundle. The old one serves until all images are told by the new one."""
        begin, stop = time.monotonic(), stop or threading.Event()
        with only_indexer(self.path), Model(Bundle.open(find_bundle(bundle))) as model:
            head = model.manifest.retriever
            self._spaces.accepts(model.manifest.fingerprint, head.similarity if head else None)
            prepare = partial(self._spaces.prepare, progress, stop)
            report = moving.move(self._database, model, progress, stop, prepare)
            if not report.stopped:
                self._models.named = None
                self._after_change(progress, stop)
        report.seconds = time.monotonic() - begin
        return report

    def watch(
        self,
        folders: Sequence[AnyPath],
        *,
        alerts: Sequence[str] = (),
        every: float = 2.0,
        stop: threading.Event | None = None,
        progress: Progress = SILENT,
    ) -> Iterator[Sighting | Report]:
        """Keep the library current, looking every so many seconds; gives the report of each update that changed
        something, after a `Sighting` for each new image and alert that match. What is in a folder that the library
        did not have before is not new."""
        stop = stop or threading.Event()
        had = set(self.info().folders)
        quiet = any(os.path.abspath(os.path.expanduser(os.fspath(each))) not in had for each in folders)
        while not stop.is_set():
            report = self.update(folders, progress=progress, stop=stop)
            for text in alerts if not quiet and report.new else ():
                found = self._search(self._asked(text), Filters(), len(report.new), among=report.new)
                yield from (Sighting(each.image, text, each.relevance) for each in found.matching)
            quiet = False
            if report.told or report.linked or report.forgotten or report.problems:
                yield report
            stop.wait(every)

    def forget(self, folder: AnyPath) -> int:
        """Let go of a folder's images; how many. Their files are not touched."""
        with only_indexer(self.path), self._database.write() as connection:
            return looked_after.forget(connection, folder)

    # Searching

    def search(
        self,
        text: str = "",
        *,
        like: ImageLike | Embedding | int | None = None,
        tags: Sequence[str] = (),
        not_tags: Sequence[str] = (),
        folder: AnyPath | None = None,
        since: float | None = None,
        k: int = 10,
        rank: Rank = "together",
    ) -> Results:
        """The k images that fit best, of those that the filters let through.

        Args:
            text: a sentence or words.
            like: an image, its embedding by the library's bundle, or the number of one in the library, that they
                should be like.
            tags: all of these they have, and
            not_tags: none of these.
            folder: they have a file in this folder, however deep.
            since: they are not older: seconds since 1970.
            rank: "together" by embedding and words; or by "embedding" alone.
        """
        if not 0 < k <= MOST_RESULTS:
            raise LibraryError(f"{k} results cannot be asked for", remedy=f"Ask for 1 to {MOST_RESULTS:,}")
        if rank not in ("together", "embedding"):
            raise LibraryError(f"there is no rank {rank!r}", remedy="Choose together or embedding")
        filters = Filters(tuple(tags), tuple(not_tags), folder_of(folder), since)
        question = replace(self._asked(text), embedding_only=rank == "embedding")
        if like is not None:
            vector, number = self._seen(like)
            question = replace(question, like=vector, leave_out=number)
        return replace(self._search(question, filters, k), unknown=self._nowhere(question.unknown))

    def neighbours(self, number: int, k: int = 10) -> Results:
        """The images most like one of the library."""
        return self.search(like=number, k=k)

    def get(self, number: int) -> LibraryImage:
        with self._database.read() as connection:
            return store.image(connection, number)

    def find(self, path: AnyPath) -> LibraryImage | None:
        """The image that a file holds."""
        with self._database.read() as connection:
            name = os.fsencode(os.path.abspath(path))
            row = connection.execute("SELECT image FROM files WHERE path = ?", (name,)).fetchone()
            return store.image(connection, row[0]) if row and row[0] else None

    def images(
        self,
        offset: int = 0,
        limit: int = 50,
        *,
        tags: Sequence[str] = (),
        not_tags: Sequence[str] = (),
        folder: AnyPath | None = None,
        since: float | None = None,
    ) -> list[LibraryImage]:
        """Images that the filters let through: the surest of the tags first, then the newest."""
        found = self.listed(offset, limit, tags=tags, not_tags=not_tags, folder=folder, since=since)
        return [each.image for each in found]

    def listed(
        self,
        offset: int = 0,
        limit: int = 50,
        *,
        tags: Sequence[str] = (),
        not_tags: Sequence[str] = (),
        folder: AnyPath | None = None,
        since: float | None = None,
    ) -> Results:
        """The same as `images`, with how sure the model was of the tags."""
        filters = Filters(tuple(tags), tuple(not_tags), folder_of(folder), since)
        with self._database.read() as connection:
            return listed(connection, filters, limit, offset)

    def count(
        self,
        *,
        tags: Sequence[str] = (),
        not_tags: Sequence[str] = (),
        folder: AnyPath | None = None,
        since: float | None = None,
    ) -> int:
        """How many images the filters let through."""
        condition, values = Filters(tuple(tags), tuple(not_tags), folder_of(folder), since).condition()
        with self._database.read() as connection:
            query = f"SELECT count(*) FROM images p WHERE {condition}"
            return int(connection.execute(query, values).fetchone()[0])

    def hashes(self) -> frozenset[str]:
        """The contents of all images."""
        with self._database.read() as connection:
            return frozenset(row[0].hex() for row in connection.execute("SELECT hash FROM images"))

    def tags(self) -> list[TagCount]:
        """All tags, the most frequent first."""
        query = "SELECT label, count(*) FROM tags GROUP BY label ORDER BY count(*) DESC, label"
        with self._database.read() as connection:
            return [TagCount(*row) for row in connection.execute(query)]

    def duplicates(self, bits: int = duplicates.BITS) -> list[tuple[LibraryImage, ...]]:
        """Groups of images that look the same, the largest first in each; one alone if it has several files."""
        with self._database.read() as connection:
            return duplicates.duplicates(connection, bits)

    # What people say

    def edit(
        self, number: int, *, caption: str | Keep | None = KEEP, tags: Sequence[str] | Keep | None = KEEP
    ) -> LibraryImage:
        """Write an image's caption or tags oneself; "" or None gives the model's back."""
        return edits.edit(self._database, number, caption, tags)

    def describe(self, table: AnyPath, *, images: AnyPath | None = None) -> Imported:
        """Take descriptions from a CSV, TSV or JSON lines file; file names in it start from its folder, or `images`."""
        return exporting.describe(self._database, Path(table), None if images is None else Path(images))

    def export(self, out: AnyPath | None, kind: str) -> int:
        """Write everything as `csv` or `jsonl`, or as `xmp` files beside the images; how many."""
        return exporting.export(exporting.all_images(self._database), None if out is None else Path(out), kind)

    def calibrate(self, judgements: Sequence[tuple[str, int, bool]] = ()) -> Calibration:
        """Fit what relevance means: to a person's judgements (a text, an image's number, whether they match), or
        else to the library's own texts."""
        row, space = self._models.settle(), self._spaces.current()
        if space is None or row.similarity is None:
            return DEFAULT
        if judgements:
            texts = calibrating.judged(space, self.model.retriever, judgements)
            images = calibrating.calibrations(row)[1]
        else:
            with self._database.read() as connection:
                texts, images = calibrating.fit(connection, row, space, self.model.retriever)
        with self._database.write() as connection:
            calibrating.keep(connection, row.id, texts, images, space.count)
        return texts

    def verify(self) -> list[str]:
        """What is wrong with the library; nothing, if it is sound."""
        with self._database.write() as connection:  # SQLite checks full-text indexes by writing to them
            wrong = checking.problems(connection)
        return wrong or self._spaces.problems()

    # Inside

    def _after_change(self, progress: Progress, stop: threading.Event) -> None:
        if stop.is_set():
            return
        self._spaces.refresh_index(progress, stop)
        row = self._models.row()
        if row is None or row.similarity is None or row.calibration.get("texts", {}).get("how") == "judged":
            return
        count, fitted = self._spaces.count(), row.calibration.get("count", 0)
        if abs(count - fitted) > 0.2 * max(count, fitted):
            self.calibrate()

    def _asked(self, text: str) -> Question:
        """A text with its embedding, and how much of it the model knows."""
        text = text.strip()
        if not text or self._models.row() is None or "retriever" not in self.model.kinds:
            return Question(text)
        retriever, said = self.model.retriever, words.content_words(text)
        tokens = {token.lower() for token in retriever.unknown(text)}
        unknown = tuple(word for word in said if word in tokens)
        known = 1 - len(unknown) / len(said) if said else 0.0
        return Question(text, retriever.embed_texts([text])[0], known, unknown)

    def _nowhere(self, unknown: Sequence[str]) -> tuple[str, ...]:
        """Of words that the model does not know, those that no image has either."""
        if not unknown:
            return ()
        with self._database.read() as connection:
            return tuple(word for word in unknown if not words.is_anywhere(connection, word))

    def _seen(self, like: ImageLike | Embedding | int) -> tuple[Floats | None, int]:
        """The embedding of an image, and its number if it is one of the library's."""
        if self._models.row() is None:
            return None, 0
        if isinstance(like, Embedding):
            return like.vector, 0
        if not isinstance(like, int):
            return self.model.retriever.images(like).vector, 0
        with self._database.read() as connection:
            query = "SELECT vector FROM told WHERE image = ? AND bundle = ?"
            row = connection.execute(query, (like, int(store.get_meta(connection, "bundle", "0")))).fetchone()
        if row is None or row[0] is None:
            raise LibraryError(f"there is no image number {like} with an embedding in this library")
        return store.vector_of(row[0]), like

    def _search(self, question: Question, filters: Filters, k: int, among: Sequence[int] | None = None) -> Results:
        space = self._spaces.current()
        with self._database.read() as connection:
            fitted = calibrating.calibrations(store.bundle_row(connection))
            return search(connection, space, question, filters, k, fitted, among)
