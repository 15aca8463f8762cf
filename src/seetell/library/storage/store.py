"""What is written into the database, and how images are read from it. Every function works inside a transaction."""

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import Manifest
from seetell.images.metadata import plain
from seetell.library.indexing.pending import Facts
from seetell.library.records import LibraryError, LibraryImage
from seetell.runtime import Description, Tag

Connection = sqlite3.Connection
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BundleRow:
    """A bundle as the library remembers it."""

    id: int
    fingerprint: str
    name: str
    place: str
    kinds: tuple[str, ...]
    similarity: str | None
    dimensions: int
    calibration: dict[str, Any]


def get_meta(connection: Connection, key: str, default: str = "") -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else str(row[0])


def set_meta(connection: Connection, key: str, value: object) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, str(value)))


def bundle_row(connection: Connection, key: str = "bundle") -> BundleRow | None:
    """The bundle in use, or with `coming` the one that a reindex is moving to."""
    wanted = get_meta(connection, key)
    row = connection.execute("SELECT * FROM bundles WHERE id = ?", (int(wanted or 0),)).fetchone()
    if row is None:
        return None
    number, fingerprint, name, place, kinds, similarity, dimensions, calibration = row
    return BundleRow(
        number,
        fingerprint,
        name,
        place,
        tuple(kinds.split()),
        similarity,
        dimensions or 0,
        json.loads(calibration or "{}"),
    )


def add_bundle(connection: Connection, manifest: Manifest, place: str) -> int:
    """The number of a bundle, which is remembered from now on."""
    head = manifest.retriever
    connection.execute(
        "INSERT INTO bundles (fingerprint, name, place, kinds, similarity, dimensions) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (fingerprint) DO UPDATE SET place = excluded.place, name = excluded.name",
        (
            *(manifest.fingerprint, manifest.name, place, " ".join(manifest.kinds)),
            *((head.similarity, head.dimensions) if head else (None, None)),
        ),
    )
    row = connection.execute("SELECT id FROM bundles WHERE fingerprint = ?", (manifest.fingerprint,)).fetchone()
    return int(row[0])


def add_image(connection: Connection, digest: bytes, facts: Facts) -> int:
    connection.execute(
        "INSERT INTO images (hash, width, height, bytes, taken, look, description) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (hash) DO NOTHING",
        (digest, facts.width, facts.height, facts.bytes, facts.taken, facts.look, facts.description),
    )
    return int(connection.execute("SELECT id FROM images WHERE hash = ?", (digest,)).fetchone()[0])


def add_told(connection: Connection, image: int, bundle: int, said: Description) -> None:
    vector = None if said.embedding is None else np.ascontiguousarray(said.embedding, "<f4").tobytes()
    tags = json.dumps([[tag.label, round(tag.confidence, 4)] for tag in said.tags], ensure_ascii=False)
    connection.execute(
        "INSERT OR REPLACE INTO told (image, bundle, caption, tags, vector) VALUES (?, ?, ?, ?, ?)",
        (image, bundle, plain(said.text), tags, vector),
    )


def add_file(
    connection: Connection, path: str, size: int, mtime: int, image: int | None, reason: str | None = None
) -> None:
    connection.execute(
        "INSERT INTO files (path, size, mtime, image, reason) VALUES (?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE "
        "SET size = excluded.size, mtime = excluded.mtime, image = excluded.image, reason = excluded.reason",
        (os.fsencode(path), size, mtime, image, None if reason is None else plain(reason)),
    )


def forget_files(connection: Connection, paths: Iterable[str]) -> None:
    connection.executemany("DELETE FROM files WHERE path = ?", ((os.fsencode(path),) for path in paths))


def forget_orphans(connection: Connection) -> int:
    """Let go of images that no file has any more. What people wrote of them is kept."""
    orphans = "SELECT id FROM images WHERE id NOT IN (SELECT image FROM files WHERE image IS NOT NULL)"
    gone = [row[0] for row in connection.execute(orphans)]
    if gone:
        for statement in (
            "DELETE FROM words WHERE rowid = ?",
            "DELETE FROM tags WHERE image = ?",
            "DELETE FROM images WHERE id = ?",
        ):
            connection.executemany(statement, ((each,) for each in gone))
        set_meta(connection, "deletions", int(get_meta(connection, "deletions", "0")) + 1)
    return len(gone)


def refresh(connection: Connection, images: Sequence[int], bundle: int | None = None) -> None:
    """Make the tags that count and the words that are searched anew, from what models and people say."""
    used = bundle or int(get_meta(connection, "bundle", "0"))
    rows = connection.execute(
        "SELECT p.id, p.description, d.text, e.caption, e.tags, t.caption, t.tags FROM images p "
        "LEFT JOIN told t ON t.image = p.id AND t.bundle = ? LEFT JOIN edits e ON e.hash = p.hash "
        "LEFT JOIN descriptions d ON d.hash = p.hash WHERE p.id IN (SELECT value FROM json_each(?))",
        (used, json.dumps(list(images))),
    ).fetchall()
    words, tags = [], []
    for image, inside, imported, caption, labels, told_caption, told_tags in rows:
        said: list[str] = [inside, imported or ""]
        told: list[str] = []
        (told if caption is None else said).append(told_caption or "" if caption is None else caption)
        chosen = json.loads(told_tags or "[]") if labels is None else [[each, 1.0] for each in json.loads(labels)]
        (told if labels is None else said).extend(label for label, _ in chosen)
        words.append((image, " · ".join(filter(None, said)), " · ".join(filter(None, told))))
        tags += [(image, label, confidence) for label, confidence in chosen]
    which = [(row[0],) for row in rows]
    connection.executemany("DELETE FROM words WHERE rowid = ?", which)
    connection.executemany("DELETE FROM tags WHERE image = ?", which)
    connection.executemany("INSERT INTO words (rowid, said, told) VALUES (?, ?, ?)", words)
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", tags)


def images(connection: Connection, ids: Sequence[int]) -> list[LibraryImage]:
    """Images in the order of their numbers as given; those that are not there are left out."""
    wanted = json.dumps(list(ids))
    used = int(get_meta(connection, "bundle", "0"))
    files: dict[int, list[str]] = {}
    for image, path in connection.execute(
        "SELECT image, path FROM files WHERE image IN (SELECT value FROM json_each(?)) ORDER BY rowid", (wanted,)
    ):
        files.setdefault(image, []).append(os.fsdecode(path))
    tags: dict[int, list[Tag]] = {}
    for image, label, confidence in connection.execute(
        "SELECT image, label, confidence FROM tags WHERE image IN (SELECT value FROM json_each(?)) "
        "ORDER BY confidence DESC, label",
        (wanted,),
    ):
        tags.setdefault(image, []).append(Tag(label, confidence))
    found: dict[int, LibraryImage] = {}
    for number, digest, width, height, size, taken, inside, imported, caption, labels, told in connection.execute(
        "SELECT p.id, p.hash, p.width, p.height, p.bytes, p.taken, p.description, d.text, e.caption, e.tags, t.caption "
        "FROM images p LEFT JOIN told t ON t.image = p.id AND t.bundle = ? LEFT JOIN edits e ON e.hash = p.hash "
        "LEFT JOIN descriptions d ON d.hash = p.hash WHERE p.id IN (SELECT value FROM json_each(?))",
        (used, wanted),
    ):
        edited = {name for name, value in (("caption", caption), ("tags", labels)) if value is not None}
        if number in files:
            found[number] = LibraryImage(
                *(number, tuple(files[number]), (told or "") if caption is None else caption),
                *(tuple(tags.get(number, ())), " · ".join(filter(None, (imported, inside))), frozenset(edited)),
                *(width, height, size, taken, digest.hex()),
            )
    return [found[each] for each in ids if each in found]


def image(connection: Connection, number: int) -> LibraryImage:
    found = images(connection, [number])
    if not found:
        raise LibraryError(f"there is no image number {number} in this library")
    return found[0]


def vector_of(blob: bytes) -> Floats:
    return np.frombuffer(blob, "<f4")


def below(folder: str) -> tuple[str, list[bytes]]:
    """A condition on `path`: in this folder, however deep; it can use the index, as paths are compared byte by byte."""
    begin = os.fsencode(folder if folder.endswith(os.sep) else folder + os.sep)
    return "path >= ? AND path < ?", [begin, begin[:-1] + bytes([begin[-1] + 1])]
