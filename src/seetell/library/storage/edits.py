"""What people write about images: captions, tags, descriptions.

It is stored by content, in the database and also in a journal, a plain JSON lines file in the library's folder, so that
no damage to the database can lose it.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path

from seetell.errors import LibraryError
from seetell.images.metadata import LONGEST, plain
from seetell.library.records import LibraryImage
from seetell.library.storage import rows
from seetell.library.storage.database import Database

JOURNAL = "edits.jsonl"
MAX_TAGS, MAX_TAG_LENGTH = 200, 100
SAME_LOOK_BITS = 2  # of 64 bits by which the difference hash may change when a file is saved again


class Unchanged(Enum):
    """The type of `UNCHANGED`."""

    UNCHANGED = "unchanged"

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED = Unchanged.UNCHANGED
"""The default of `Library.edit`: leave the caption or the tags as they are."""


def edit(
    database: Database, image_id: int, caption: str | Unchanged | None, tags: Sequence[str] | Unchanged | None
) -> LibraryImage:
    """Set a person's caption or tags; None or an empty caption restores the model's."""
    with database.write() as connection:
        before = rows.image(connection, image_id)
        digest = bytes.fromhex(before.hash)
        row = connection.execute("SELECT caption, tags FROM edits WHERE hash = ?", (digest,)).fetchone()
        new_caption, new_tags = row or (None, None)
        if not isinstance(caption, Unchanged):
            new_caption = plain(caption or "")[:LONGEST] or None
        if not isinstance(tags, Unchanged):
            new_tags = None if tags is None else json.dumps(_cleaned(tags), ensure_ascii=False)
        _put(connection, digest, new_caption, new_tags)
        # The journal first: if it cannot be written, the edit fails as a whole.
        append(database.folder, [{"hash": before.hash, "caption": new_caption, "tags": new_tags}])
        rows.refresh(connection, [image_id])
        return rows.image(connection, image_id)


def set_descriptions(database: Database, texts: dict[int, str]) -> None:
    """Set the imported descriptions of images, by image id."""
    with database.write() as connection:
        lines = []
        for image_id, text in texts.items():
            row = connection.execute("SELECT hash FROM images WHERE id = ?", (image_id,)).fetchone()
            text = plain(text)[:LONGEST]
            connection.execute("INSERT OR REPLACE INTO descriptions VALUES (?, ?)", (row[0], text))
            lines.append({"hash": row[0].hex(), "description": text})
        append(database.folder, lines)
        rows.refresh(connection, list(texts))


def carry_over(folder: Path, connection: sqlite3.Connection, path: str, digest: bytes, dhash: int) -> None:
    """Carry edits over to the new content of a file that looks the same as before.

    A program that writes metadata into a file changes its bytes, but not its pixels. Edits that the new content has
    already are kept.
    """
    row = connection.execute(
        "SELECT i.hash, i.dhash FROM files f JOIN images i ON i.id = f.image WHERE f.path = ? AND i.hash != ?",
        (os.fsencode(path), digest),
    ).fetchone()
    if row is None or ((row[1] ^ dhash) & 0xFFFF_FFFF_FFFF_FFFF).bit_count() > SAME_LOOK_BITS:
        return
    edited = connection.execute("SELECT caption, tags FROM edits WHERE hash = ?", (row[0],)).fetchone()
    described = connection.execute("SELECT text FROM descriptions WHERE hash = ?", (row[0],)).fetchone()
    if edited and connection.execute("INSERT OR IGNORE INTO edits VALUES (?, ?, ?)", (digest, *edited)).rowcount:
        append(folder, [{"hash": digest.hex(), "caption": edited[0], "tags": edited[1]}])
    insert = "INSERT OR IGNORE INTO descriptions VALUES (?, ?)"
    if described and connection.execute(insert, (digest, *described)).rowcount:
        append(folder, [{"hash": digest.hex(), "description": described[0]}])


def append(folder: Path, lines: Iterable[dict[str, object]]) -> None:
    """Append lines to the journal, and make sure that they have reached the disk."""
    path = folder / JOURNAL
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    try:
        with open(path, "ab") as file:
            # Ends a line that a full disk or a power failure left unfinished.
            file.write(b"\n" * (file.tell() > 0) + text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LibraryError(f"this file cannot be written: {error.strerror}", where=str(path)) from None


def replay(folder: Path, connection: sqlite3.Connection) -> int:
    """Write everything in the journal to the database; returns how many images it is about."""
    seen: set[bytes] = set()
    for line in _journal(folder):
        with contextlib.suppress(KeyError, TypeError, ValueError, sqlite3.Error):
            digest = bytes.fromhex(line["hash"])  # type: ignore[arg-type]
            if "description" in line:
                connection.execute("INSERT OR REPLACE INTO descriptions VALUES (?, ?)", (digest, line["description"]))
            else:
                _put(connection, digest, line["caption"], line["tags"])
            seen.add(digest)
    return len(seen)


def _journal(folder: Path) -> Iterator[dict[str, object]]:
    try:
        lines = (folder / JOURNAL).read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        with contextlib.suppress(ValueError):
            row = json.loads(line.decode("utf-8"))
            if isinstance(row, dict):
                yield row


def _put(connection: sqlite3.Connection, digest: bytes, caption: object, tags: object) -> None:
    if caption is None and tags is None:
        connection.execute("DELETE FROM edits WHERE hash = ?", (digest,))
    else:
        connection.execute("INSERT OR REPLACE INTO edits VALUES (?, ?, ?)", (digest, caption, tags))


def _cleaned(tags: Sequence[str]) -> list[str]:
    if isinstance(tags, str):
        raise LibraryError("tags is a list of tags, not a text", remedy=f"Write tags=[{tags!r}]")
    found = list(dict.fromkeys(plain(tag)[:MAX_TAG_LENGTH] for tag in tags))
    if len(found) > MAX_TAGS:
        raise LibraryError(f"an image can have at most {MAX_TAGS} tags, not {len(found)}")
    return [tag for tag in found if tag]
