"""The folders that a library looks after."""

import os
import sqlite3
from collections.abc import Sequence

from seetell.library.indexing.scan import is_below
from seetell.library.records import LibraryError
from seetell.library.search.searching import folder_of
from seetell.library.storage import store

AnyPath = str | os.PathLike[str]


def all_folders(connection: sqlite3.Connection) -> list[str]:
    return [os.fsdecode(row[0]) for row in connection.execute("SELECT path FROM folders")]


def add(connection: sqlite3.Connection, folders: Sequence[AnyPath]) -> list[str]:
    """Look after these folders, too; which of them are to be looked at: one inside another is looked at with it."""
    had, wanted = all_folders(connection), [folder_of(each) for each in folders]
    for path in wanted:
        known = any(is_below(path, each) for each in had)
        if not os.path.isdir(path) and (os.path.exists(path) or not known):
            what = "this is a file, not a folder" if os.path.exists(path) else "there is no such folder"
            raise LibraryError(what, where=path)
        if not known:
            inside, ends = store.below(path)
            connection.execute(f"DELETE FROM folders WHERE {inside}", ends)
            connection.execute("INSERT INTO folders VALUES (?)", (os.fsencode(path),))
            had.append(path)
    return [each for each in dict.fromkeys(wanted) if not any(is_below(each, o) for o in wanted if o != each)]


def forget(connection: sqlite3.Connection, folder: AnyPath) -> int:
    """Let go of a folder and of the images that no other file holds; how many."""
    path = folder_of(folder)
    before = connection.execute("SELECT count(*) FROM images").fetchone()[0]
    inside, ends = store.below(path)
    connection.execute(f"DELETE FROM files WHERE {inside}", ends)
    connection.execute(f"DELETE FROM folders WHERE path = ? OR {inside}", [os.fsencode(path), *ends])
    store.forget_orphans(connection)
    return int(before - connection.execute("SELECT count(*) FROM images").fetchone()[0])
