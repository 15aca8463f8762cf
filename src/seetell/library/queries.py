"""The read-only half of `Library`: searching, listing and looking up images."""

import os

from seetell.library.filters import NO_FILTERS, Filters
from seetell.library.records import Info, LibraryImage, SearchResults, TagCount
from seetell.library.search import duplicates, query
from seetell.library.search.filtering import condition
from seetell.library.search.searcher import Rank, Searcher
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.library.storage.summary import summarise
from seetell.runtime import Embedding, ImageLike

AnyPath = str | os.PathLike[str]


class LibraryQueries:
    """What can be asked of a library. Any number of threads may ask at once, also during an update.

    Args:
        database: of the library.
        searcher: answers searches.
    """

    def __init__(self, database: Database, searcher: Searcher) -> None:
        self._database, self._searcher = database, searcher

    def info(self) -> Info:
        """Counts, folders, model and size of the library.

        Example:
            >>> library.info().images
            3
        """
        return summarise(self._database)

    def search(
        self,
        text: str = "",
        filters: Filters = NO_FILTERS,
        *,
        like: ImageLike | Embedding | int | None = None,
        k: int = 10,
        rank: Rank = "together",
    ) -> SearchResults:
        """The k most relevant images, best first, whether or not they match.

        Args:
            text: a sentence or words.
            filters: only images that pass are searched.
            like: an image, its embedding by the library's model, or the id of an image in the library, that the
                results should be similar to.
            k: how many.
            rank: "together" ranks by embedding and words, "embedding" by the embedding alone.

        Example:
            >>> results = library.search("a red thing", Filters(not_tags=["blue"]), k=2)
            >>> [(hit.image.caption, hit.matches) for hit in results]
            [('a red thing', True), ('a green thing', False)]
        """
        return self._searcher.search(text, filters, like=like, k=k, rank=rank)

    def similar(self, image_id: int, k: int = 10) -> SearchResults:
        """The images most similar to one in the library.

        Args:
            image_id: of the image, which is not among the results.
            k: how many.

        Example:
            >>> len(library.similar(1))
            2
        """
        return self.search(like=image_id, k=k)

    def get(self, image_id: int) -> LibraryImage:
        """The image with this id; raises `LibraryError` if there is none.

        Args:
            image_id: as in `LibraryImage.id`.

        Example:
            >>> library.get(1).caption
            'a blue thing'
        """
        with self._database.read() as connection:
            return rows.image(connection, image_id)

    def find(self, path: AnyPath) -> LibraryImage | None:
        """The image of a file, or None if the library does not have it.

        Args:
            path: of the file.

        Example:
            >>> library.find("PHOTOS/red.png").labels
            ('red',)
        """
        with self._database.read() as connection:
            name = os.fsencode(os.path.abspath(path))
            row = connection.execute("SELECT image FROM files WHERE path = ?", (name,)).fetchone()
            return rows.image(connection, row[0]) if row and row[0] else None

    def images(self, filters: Filters = NO_FILTERS, *, offset: int = 0, limit: int = 50) -> list[LibraryImage]:
        """The images that pass the filters: most confident tags first, then the newest.

        Args:
            filters: all images by default.
            offset: how many to skip.
            limit: how many to return at most.

        Example:
            >>> [image.caption for image in library.images(Filters(tags=["red"]), limit=10)]
            ['a red thing']
        """
        return [hit.image for hit in self.browse(filters, offset=offset, limit=limit)]

    def browse(self, filters: Filters = NO_FILTERS, *, offset: int = 0, limit: int = 50) -> SearchResults:
        """The same images as `images`, with the model's confidence in the tags as their relevance.

        Args:
            filters: all images by default.
            offset: how many to skip.
            limit: how many to return at most.

        Example:
            >>> library.browse(Filters(tags=["red"]))
            SearchResults(1 hits, 1 matching)
        """
        with self._database.read() as connection:
            return query.browse(connection, filters, limit, offset)

    def count(self, filters: Filters = NO_FILTERS) -> int:
        """How many images pass the filters.

        Args:
            filters: all images by default.

        Example:
            >>> library.count(Filters(folder="PHOTOS"))
            3
        """
        where, values = condition(filters)
        with self._database.read() as connection:
            return int(connection.execute(f"SELECT count(*) FROM images i WHERE {where}", values).fetchone()[0])

    def tags(self, filters: Filters = NO_FILTERS) -> list[TagCount]:
        """The tags of the images that pass the filters, the most frequent first.

        Args:
            filters: all images by default.

        Example:
            >>> [(tag.label, tag.images) for tag in library.tags()]
            [('blue', 1), ('green', 1), ('red', 1)]
        """
        where, values = condition(filters)
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT t.label, count(*) FROM tags t JOIN images i ON i.id = t.image WHERE {where} "
                "GROUP BY t.label ORDER BY count(*) DESC, t.label",
                values,
            )
            return [TagCount(*row) for row in found]

    def duplicates(self, bits: int = duplicates.MAX_BITS) -> list[tuple[LibraryImage, ...]]:
        """Groups of near-duplicates, the largest image of each first; a single image if it has several files.

        Args:
            bits: how many of the 64 bits of the difference hash may differ.

        Example:
            >>> library.duplicates()
            []
        """
        with self._database.read() as connection:
            return duplicates.duplicates(connection, bits)

    def content_hashes(self) -> frozenset[str]:
        """The hashes of all images, as in `LibraryImage.hash`."""
        with self._database.read() as connection:
            return frozenset(row[0].hex() for row in connection.execute("SELECT hash FROM images"))
