"""Reads and writes the rows of the database. Every function runs inside the caller's transaction."""

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import Manifest
from seetell.errors import LibraryError
from seetell.images.metadata import plain
from seetell.library.records import LibraryImage
from seetell.runtime import Description, Tag

Connection = sqlite3.Connection
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model as the library remembers it."""

    id: int
    fingerprint: str
    name: str
    path: str
    kinds: tuple[str, ...]
    similarity: str | None
    dimensions: int
    calibration: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What is known of an image without a model; `dhash` is the difference hash of its pixels."""

    width: int
    height: int
    bytes: int
    taken: float
    dhash: int
    description: str


def get_meta(connection: Connection, key: str, default: str = "") -> str:
    """A value of the table `meta`."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else str(row[0])


def set_meta(connection: Connection, key: str, value: object) -> None:
    """Set a value of the table `meta`."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, str(value)))


def current_model(connection: Connection, key: str = "model") -> ModelRow | None:
    """The model in use, or with `key="next_model"` the one that a reindex is moving to."""
    row = connection.execute("SELECT * FROM models WHERE id = ?", (int(get_meta(connection, key) or 0),)).fetchone()
    if row is None:
        return None
    model, fingerprint, name, path, kinds, similarity, dimensions, calibration = row
    return ModelRow(
        model,
        fingerprint,
        name,
        path,
        tuple(kinds.split()),
        similarity,
        dimensions or 0,
        json.loads(calibration or "{}"),
    )


def add_model(connection: Connection, manifest: Manifest, path: str) -> int:
    """Remember a model; returns its id."""
    head = manifest.retriever
    connection.execute(
        "INSERT INTO models (fingerprint, name, path, kinds, similarity, dimensions) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (fingerprint) DO UPDATE SET path = excluded.path, name = excluded.name",
        (
            *(manifest.fingerprint, manifest.name, path, " ".join(manifest.kinds)),
            *((head.similarity, head.dimensions) if head else (None, None)),
        ),
    )
    row = connection.execute("SELECT id FROM models WHERE fingerprint = ?", (manifest.fingerprint,)).fetchone()
    return int(row[0])


def replace_model(connection: Connection, model: int, manifest: Manifest, path: str) -> None:
    """Let a model that computes the same results take over all predictions of another."""
    # An unfinished reindex to it is not needed any more.
    unfinished = connection.execute("SELECT id FROM models WHERE fingerprint = ?", (manifest.fingerprint,)).fetchone()
    if unfinished is not None:
        connection.execute("DELETE FROM predictions WHERE model = ?", unfinished)
        connection.execute("DELETE FROM models WHERE id = ?", unfinished)
        set_meta(connection, "next_model", "")
    connection.execute(
        "UPDATE models SET fingerprint = ?, name = ?, path = ? WHERE id = ?",
        (manifest.fingerprint, manifest.name, path, model),
    )


def add_image(connection: Connection, digest: bytes, facts: ImageFacts) -> int:
    """Add an image unless its content is known; returns its id."""
    connection.execute(
        "INSERT INTO images (hash, width, height, bytes, taken, dhash, description) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (hash) DO NOTHING",
        (digest, facts.width, facts.height, facts.bytes, facts.taken, facts.dhash, facts.description),
    )
    return int(connection.execute("SELECT id FROM images WHERE hash = ?", (digest,)).fetchone()[0])


def image_by_hash(connection: Connection, digest: bytes, model: int) -> int | None:
    """The id of the image with this content, if it has a prediction of this model."""
    row = connection.execute(
        "SELECT i.id FROM images i JOIN predictions p ON p.image = i.id AND p.model = ? WHERE i.hash = ?",
        (model, digest),
    ).fetchone()
    return None if row is None else int(row[0])


def add_prediction(connection: Connection, image: int, model: int, description: Description) -> None:
    """Store what a model predicted for an image; an earlier prediction is replaced."""
    embedding = description.embedding
    vector = None if embedding is None else np.ascontiguousarray(embedding, "<f4").tobytes()
    tags = json.dumps([[tag.label, round(tag.confidence, 4)] for tag in description.tags], ensure_ascii=False)
    connection.execute(
        "INSERT OR REPLACE INTO predictions (image, model, caption, tags, vector) VALUES (?, ?, ?, ?, ?)",
        (image, model, plain(description.text), tags, vector),
    )


def add_file(
    connection: Connection, path: str, size: int, mtime: int, image: int | None, reason: str | None = None
) -> None:
    """Store which image a file holds, or the reason why it cannot be read."""
    connection.execute(
        "INSERT INTO files (path, size, mtime, image, reason) VALUES (?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE "
        "SET size = excluded.size, mtime = excluded.mtime, image = excluded.image, reason = excluded.reason",
        (os.fsencode(path), size, mtime, image, None if reason is None else plain(reason)),
    )


def remove_files(connection: Connection, paths: Iterable[str]) -> None:
    """Remove files; their images stay until `remove_orphans`."""
    connection.executemany("DELETE FROM files WHERE path = ?", ((os.fsencode(path),) for path in paths))


def remove_orphans(connection: Connection) -> int:
    """Remove images that have no file any more; edits and descriptions of their content are kept."""
    orphans = "SELECT id FROM images WHERE id NOT IN (SELECT image FROM files WHERE image IS NOT NULL)"
    gone = [row[0] for row in connection.execute(orphans)]
    if gone:
        for statement in (
            "DELETE FROM fulltext WHERE rowid = ?",
            "DELETE FROM tags WHERE image = ?",
            "DELETE FROM images WHERE id = ?",
        ):
            connection.executemany(statement, ((each,) for each in gone))
        set_meta(connection, "deletions", int(get_meta(connection, "deletions", "0")) + 1)
    return len(gone)


_ALL_TEXTS = (
    "SELECT i.id, i.description, d.text, e.caption, e.tags, p.caption, p.tags FROM images i "
    "LEFT JOIN predictions p ON p.image = i.id AND p.model = ? LEFT JOIN edits e ON e.hash = i.hash "
    "LEFT JOIN descriptions d ON d.hash = i.hash WHERE i.id IN (SELECT value FROM json_each(?))"
)


def refresh(connection: Connection, images: Sequence[int], model: int | None = None) -> None:
    """Derive `tags` and `fulltext` of some images anew from predictions, edits and descriptions."""
    used = model or int(get_meta(connection, "model", "0"))
    rows = connection.execute(_ALL_TEXTS, (used, json.dumps(list(images)))).fetchall()
    texts, tags = [], []
    for image, embedded, imported, caption, labels, model_caption, model_tags in rows:
        written: list[str] = [embedded, imported or ""]
        generated: list[str] = []
        if caption is None:
            generated.append(model_caption or "")
        else:
            written.append(caption)
        chosen = json.loads(model_tags or "[]") if labels is None else [[each, 1.0] for each in json.loads(labels)]
        (generated if labels is None else written).extend(label for label, _ in chosen)
        texts.append((image, " · ".join(filter(None, written)), " · ".join(filter(None, generated))))
        tags += [(image, label, confidence) for label, confidence in chosen]
    ids = [(row[0],) for row in rows]
    connection.executemany("DELETE FROM fulltext WHERE rowid = ?", ids)
    connection.executemany("DELETE FROM tags WHERE image = ?", ids)
    connection.executemany("INSERT INTO fulltext (rowid, written, generated) VALUES (?, ?, ?)", texts)
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", tags)


def refresh_all(connection: Connection, model: int | None = None) -> None:
    """`refresh` for every image."""
    ids = [row[0] for row in connection.execute("SELECT id FROM images")]
    for start in range(0, len(ids), 1_000):
        refresh(connection, ids[start : start + 1_000], model)


def images(connection: Connection, ids: Sequence[int]) -> list[LibraryImage]:
    """Images in the order of the ids; ids that do not exist are left out."""
    wanted = json.dumps(list(ids))
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
    for image, digest, width, height, size, taken, embedded, imported, caption, labels, generated in connection.execute(
        "SELECT i.id, i.hash, i.width, i.height, i.bytes, i.taken, i.description, d.text, e.caption, e.tags, p.caption "
        "FROM images i LEFT JOIN predictions p ON p.image = i.id AND p.model = ? LEFT JOIN edits e ON e.hash = i.hash "
        "LEFT JOIN descriptions d ON d.hash = i.hash WHERE i.id IN (SELECT value FROM json_each(?))",
        (int(get_meta(connection, "model", "0")), wanted),
    ):
        edited = {name for name, value in (("caption", caption), ("tags", labels)) if value is not None}
        if image in files:
            found[image] = LibraryImage(
                *(image, tuple(files[image]), (generated or "") if caption is None else caption),
                *(tuple(tags.get(image, ())), " · ".join(filter(None, (imported, embedded))), frozenset(edited)),
                *(width, height, size, taken, digest.hex()),
            )
    return [found[each] for each in ids if each in found]


def image(connection: Connection, image_id: int) -> LibraryImage:
    """One image; a `LibraryError` if it does not exist."""
    found = images(connection, [image_id])
    if not found:
        raise LibraryError(f"there is no image {image_id} in this library")
    return found[0]


def vector(blob: bytes) -> Floats:
    """A stored embedding as an array."""
    return np.frombuffer(blob, "<f4")


def below(folder: str) -> tuple[str, list[bytes]]:
    """An SQL condition on `path`: below this folder. Paths are compared as bytes, so that it can use the index."""
    start = os.fsencode(folder if folder.endswith(os.sep) else folder + os.sep)
    return "path >= ? AND path < ?", [start, start[:-1] + bytes([start[-1] + 1])]
