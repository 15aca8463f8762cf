"""Opens the parts of a library: its database, repaired if need be, and the index of its embeddings."""

from collections.abc import Callable
from pathlib import Path

from seetell.library.location import MilvusAddress
from seetell.library.records import DamagedError
from seetell.library.search.vector_index import VectorIndex
from seetell.library.storage import integrity, repair
from seetell.library.storage.database import Database
from seetell.library.storage.lock import HOLDER


def open_database(folder: Path, *, create: bool, check: bool) -> tuple[Database, str]:
    """The database of a library, and what was recovered if it was damaged and had to be rebuilt.

    Args:
        folder: of the library.
        create: create the database if there is none.
        check: check it, and rebuild it if it is damaged; a large one only if the last update was killed.
    """
    try:
        database = Database(folder, create=create)
        if check and (integrity.is_quick(folder) or (folder / HOLDER).exists()):
            try:
                database.check()
            except BaseException:
                database.close()
                raise
        return database, ""
    except DamagedError:
        if not check:
            raise
    rebuilt = repair.rebuild(folder)
    return Database(folder), rebuilt


def index_maker(server: MilvusAddress | None, exact_limit: int) -> Callable[[Database], VectorIndex]:
    """Makes the index of a library's embeddings; connects to the server, if there is one, at once."""
    if server is None:
        return lambda database: VectorIndex(database, exact_limit)
    from seetell.library.remote.milvus import Milvus
    from seetell.library.remote.milvus_index import MilvusIndex

    milvus = Milvus(server)
    return lambda database: MilvusIndex(database, milvus)
