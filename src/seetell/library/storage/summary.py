"""Summarises a library: what `Library.info` gives."""

from seetell.library.records import Info
from seetell.library.storage import folders, integrity, rows
from seetell.library.storage.database import Database


def summarise(database: Database) -> Info:
    """Counts, folders, model and size of a library."""
    with database.read() as connection:
        model, next_model = rows.current_model(connection), rows.current_model(connection, "next_model")
        images, files, unreadable, edited = (
            connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
            for what in ("images", "files WHERE image IS NOT NULL", "files WHERE image IS NULL", "edits")
        )
        indexed = tuple(folders.all_folders(connection))
    return Info(
        path=database.folder,
        images=images,
        files=files,
        unreadable=unreadable,
        edited=edited,
        folders=indexed,
        model=model.name if model else "",
        model_path=model.path if model else "",
        fingerprint=model.fingerprint if model else "",
        kinds=model.kinds if model else (),
        bytes=integrity.size_on_disk(database.folder),
        next_model=next_model.name if next_model else "",
    )
