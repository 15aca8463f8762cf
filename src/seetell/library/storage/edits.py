"""What people write about images: captions, tags, descriptions. It is kept by content, in the database and, a line
each, in a plain file beside it, so that no damage to the database can lose it.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from seetell.images.metadata import LONGEST, plain
from seetell.library.records import LibraryError, LibraryImage
from seetell.library.storage import store
from seetell.library.storage.database import Database

JOURNAL = "edits.jsonl"
MOST_TAGS, LONGEST_TAG = 200, 100
SAME_LOOK = 2  # bits of 64 by which an image's difference hash may change when its file is written again


class Keep:
    """Says that something is to stay as it is."""


KEEP = Keep()


def edit(
    database: Database, number: int, caption: str | Keep | None, tags: Sequence[str] | Keep | None
) -> LibraryImage:
    """Set what a person says; None, or a caption without a word in it, gives the model's back."""
    with database.write() as connection:
        before = store.image(connection, number)
        digest = bytes.fromhex(before.hash)
        row = connection.execute("SELECT caption, tags FROM edits WHERE hash = ?", (digest,)).fetchone()
        new_caption, new_tags = row or (None, None)
        if not isinstance(caption, Keep):
            new_caption = plain(caption or "")[:LONGEST] or None
        if not isinstance(tags, Keep):
            new_tags = None if tags is None else json.dumps(_tidy(tags), ensure_ascii=False)
        _put(connection, digest, new_caption, new_tags)
        # In the journal first: if that fails, nothing is said to be kept.
        append(database.path.parent, [{"hash": before.hash, "caption": new_caption, "tags": new_tags}])
        store.refresh(connection, [number])
        return store.image(connection, number)


def describe(database: Database, texts: dict[int, str]) -> None:
    """Set the imported descriptions of images."""
    with database.write() as connection:
        lines = []
        for number, text in texts.items():
            row = connection.execute("SELECT hash FROM images WHERE id = ?", (number,)).fetchone()
            text = plain(text)[:LONGEST]
            connection.execute("INSERT OR REPLACE INTO descriptions VALUES (?, ?)", (row[0], text))
            lines.append({"hash": row[0].hex(), "description": text})
        append(database.path.parent, lines)
        store.refresh(connection, list(texts))


def follow(folder: Path, connection: sqlite3.Connection, paths: Sequence[str], digest: bytes, look: int) -> None:
    """A file was written again and looks as before (a program changed its metadata, or turned nothing but a knob): what
    people said of the old content goes for the new one, too, unless they said something of that already."""
    for path in paths:
        row = connection.execute(
            "SELECT p.hash, p.look FROM files f JOIN images p ON p.id = f.image WHERE f.path = ? AND p.hash != ?",
            (os.fsencode(path), digest),
        ).fetchone()
        if row is not None and ((row[1] ^ look) & 0xFFFF_FFFF_FFFF_FFFF).bit_count() <= SAME_LOOK:
            said = connection.execute("SELECT caption, tags FROM edits WHERE hash = ?", (row[0],)).fetchone()
            told = connection.execute("SELECT text FROM descriptions WHERE hash = ?", (row[0],)).fetchone()
            if said and connection.execute("INSERT OR IGNORE INTO edits VALUES (?, ?, ?)", (digest, *said)).rowcount:
                append(folder, [{"hash": digest.hex(), "caption": said[0], "tags": said[1]}])
            if (
                told
                and connection.execute("INSERT OR IGNORE INTO descriptions VALUES (?, ?)", (digest, *told)).rowcount
            ):
                append(folder, [{"hash": digest.hex(), "description": told[0]}])


def append(folder: Path, rows: Iterable[dict[str, object]]) -> None:
    """Write lines to the journal, for good."""
    path = folder / JOURNAL
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        with open(path, "ab") as file:
            # A line that a full disk or a power cut left unfinished ends here.
            file.write(b"\n" * (file.tell() > 0) + text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LibraryError(f"this cannot be written: {error.strerror}", where=str(path)) from None


def replay(folder: Path, connection: sqlite3.Connection) -> int:
    """Put all that the journal holds into the database; how many images it speaks of."""
    seen: set[bytes] = set()
    for row in _journal(folder):
        with contextlib.suppress(KeyError, TypeError, ValueError, sqlite3.Error):
            digest = bytes.fromhex(row["hash"])  # type: ignore[arg-type]
            if "description" in row:
                connection.execute("INSERT OR REPLACE INTO descriptions VALUES (?, ?)", (digest, row["description"]))
            else:
                _put(connection, digest, row["caption"], row["tags"])
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


def _tidy(tags: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(plain(tag)[:LONGEST_TAG] for tag in tags))
    if len(found) > MOST_TAGS:
        raise LibraryError(f"an image may have {MOST_TAGS} tags, not {len(found)}")
    return [tag for tag in found if tag]
