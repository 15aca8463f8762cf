"""The folders that a library indexes."""

import os
import sqlite3
from collections.abc import Sequence

from seetell.errors import LibraryError
from seetell.files import is_below
from seetell.library.filters import absolute_folder
from seetell.library.storage import rows

AnyPath = str | os.PathLike[str]


def all_folders(connection: sqlite3.Connection) -> list[str]:
    """The indexed folders; none of them lies inside another."""
    return [os.fsdecode(row[0]) for row in connection.execute("SELECT path FROM folders")]


def add(connection: sqlite3.Connection, folders: Sequence[AnyPath]) -> list[str]:
    """Add folders to those that are indexed; returns which ones to scan, without folders inside each other."""
    indexed, wanted = all_folders(connection), [absolute_folder(each) for each in folders]
    for path in wanted:
        known = any(is_below(path, each) for each in indexed)
        if not os.path.isdir(path) and (os.path.exists(path) or not known):
            problem = "this is a file, not a folder" if os.path.exists(path) else "there is no such folder"
            raise LibraryError(problem, where=path)
        if not known:
            condition, bounds = rows.below(path)
            connection.execute(f"DELETE FROM folders WHERE {condition}", bounds)
            connection.execute("INSERT INTO folders VALUES (?)", (os.fsencode(path),))
            indexed.append(path)
    return [each for each in dict.fromkeys(wanted) if not any(is_below(each, o) for o in wanted if o != each)]


def forget(connection: sqlite3.Connection, folder: AnyPath) -> int:
    """Remove a folder, and the images that have no file elsewhere; returns how many images."""
    path = absolute_folder(folder)
    condition, bounds = rows.below(path)
    connection.execute(f"DELETE FROM files WHERE {condition}", bounds)
    connection.execute(f"DELETE FROM folders WHERE path = ? OR {condition}", [os.fsencode(path), *bounds])
    return rows.remove_orphans(connection)
