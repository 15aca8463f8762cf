"""A library of the previous version (database format 1) is migrated when it is opened, and loses nothing.

`old_library/` was written by the last commit before format 2, with the built-in model: five photos indexed as
`/photos/…`, three of them edited, two described by an imported table, and photo-5.jpg deleted afterwards.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from helpers import tiny_bundles
from seetell.bundle import find_bundle, read_manifest
from seetell.library import Filters, Library, LibraryError
from seetell.library.storage import migration, rows
from seetell.library.storage.database import Database
from seetell.library.storage.lock import index_lock
from seetell.runtime import Description

OLD = Path(__file__).parent / "old_library"
OLD_MODEL = "9e4f9aa856fd057ecd6f354aacfdc0b0929535b87c5ee58d77d8ef74b8a334cd"


@dataclass(frozen=True)
class OldLibrary:
    """A copy of the old library, and of its photos in another folder."""

    path: Path
    photos: Path

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with contextlib.closing(sqlite3.connect(self.path / "library.db")) as connection:
            return connection.execute(query).fetchall()

    def write(self, statement: str, *values: object) -> None:
        with contextlib.closing(sqlite3.connect(self.path / "library.db")) as connection, connection:
            connection.execute(statement, values)


@pytest.fixture
def old(tmp_path: Path) -> OldLibrary:
    (tmp_path / "library").mkdir()
    for name in ("library.db", "edits.jsonl"):
        shutil.copy(OLD / name, tmp_path / "library" / name)
    shutil.copytree(OLD / "photos", tmp_path / "elsewhere")
    return OldLibrary(tmp_path / "library", tmp_path / "elsewhere")


def test_every_row_is_kept(old: OldLibrary) -> None:
    tables = {
        "images": "id, hash, width, height, bytes, taken, {dhash}, description FROM {images}",
        "files": "path, size, mtime, {image}, reason FROM files",
        "predictions": "seq, {image}, {model}, caption, tags, vector FROM {predictions}",
        "edits": "hash, caption, tags FROM edits",
        "descriptions": "hash, text FROM descriptions",
        "folders": "path FROM folders",
        "models": "id, fingerprint, name, {path}, kinds, similarity, dimensions FROM {models}",
        "tags": "{image}, label, confidence FROM tags",
    }
    before = {"dhash": "look", "image": "picture", "model": "bundle", "path": "place"}
    before |= {"images": "pictures", "predictions": "told", "models": "bundles"}
    after = {name: name for name in before}
    expected = {table: old.rows("SELECT " + query.format(**before)) for table, query in tables.items()}
    expected["fulltext"] = old.rows("SELECT rowid, said, told FROM words")
    Library.open(old.path).close()
    for table, query in tables.items():
        assert old.rows("SELECT " + query.format(**after)) == expected[table]
    assert old.rows("SELECT rowid, written, generated FROM fulltext") == expected["fulltext"]
    assert len(expected["images"]) == 4
    assert len(expected["edits"]) == 3
    assert old.rows("SELECT key, value FROM meta") == [("deletions", "1"), ("format", "2"), ("model", "1")]


def test_captions_tags_and_descriptions(old: OldLibrary) -> None:
    with Library.open(old.path, create=False) as library:
        first, second, third, fourth = (library.get(image_id) for image_id in (1, 2, 3, 4))
        assert (first.caption, first.labels) == ("Grandma's 80th birthday in Lyon", ("Lyon", "grandma"))
        assert (first.edited, first.description) == ({"caption", "tags"}, "also described")
        assert (second.caption, second.edited, second.labels) == ("Our old garden", {"caption"}, ())
        assert (third.caption, third.labels) == ("a kite that is sitting on top of a bed", ("umbrella",))
        assert third.description == "a description from a spreadsheet"
        assert (fourth.caption, fourth.edited) == ("a kite that is sitting on top of a table", frozenset())
        assert fourth.files == ("/photos/trip/photo-4.jpg",)
        assert library.info().folders == ("/photos",)
        assert library.info().edited == 3
        assert library.count(Filters(tags=["grandma"])) == 1
        assert library.check() == []
        assert (library.edit(4, caption="new words").caption, library.edit(1, caption=None).caption) == (
            "new words",
            "a yellow frisbee sitting on top of a beach",
        )
    with Library.open(old.path) as library:
        assert library.get(4).caption == "new words"


def test_the_built_in_model_takes_over_without_a_reindex(old: OldLibrary) -> None:
    builtin = read_manifest(find_bundle("builtin"))
    assert OLD_MODEL in builtin.supersedes
    assert builtin.fingerprint != OLD_MODEL
    vectors = old.rows("SELECT vector FROM told ORDER BY seq")
    with Library.open(old.path) as library:
        assert library.info().fingerprint == OLD_MODEL
        assert library.search("birthday of grandma", k=1)[0].image.id == 1
        assert library.search("a spreadsheet", k=1)[0].matches
        best = library.search("a kite", k=1, rank="embedding")[0]
        assert best.similarity is not None
        assert library.info().fingerprint == builtin.fingerprint
        vector = library.model.retriever.images(old.photos / "photo-1.jpg").vector
    assert [row[0] for row in vectors] == [row[0] for row in old.rows("SELECT vector FROM predictions ORDER BY seq")]
    stored = old.rows("SELECT vector FROM predictions WHERE image = 1")[0][0]
    assert isinstance(stored, bytes)
    assert vector.astype("<f4") == pytest.approx(memoryview(stored).cast("f").tolist(), abs=1e-5)
    with Library.open(old.path, model="builtin") as library:
        assert len(library.search("a kite", k=4)) == 4


def test_photos_in_another_folder_are_recognised_and_edits_come_back(old: OldLibrary) -> None:
    with Library.open(old.path) as library:
        report = library.update([old.photos])
        assert (report.moved, report.indexed, report.problems) == (4, 1, [])
        found = {path.name: library.find(path) for path in old.photos.rglob("*.jpg")}
        assert [found[f"photo-{number}.jpg"].id for number in (1, 2, 3, 4)] == [1, 2, 3, 4]  # type: ignore[union-attr]
        back = found["photo-5.jpg"]
        assert back is not None
        assert (back.caption, back.labels) == ("The picture that was deleted later", ())
        assert back.id > 5  # ids are never used twice
        assert library.check() == []


def test_the_tables_are_those_of_a_new_library(old: OldLibrary, tmp_path: Path) -> None:
    Library.open(old.path).close()
    Library.open(tmp_path / "new").close()
    new = OldLibrary(tmp_path / "new", old.photos)
    names = "SELECT type, name, tbl_name FROM sqlite_schema ORDER BY type, name"
    assert old.rows(names) == new.rows(names)
    for (table,) in new.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
        for pragma in ("table_info", "foreign_key_list"):
            assert old.rows(f"PRAGMA {pragma}({table})") == new.rows(f"PRAGMA {pragma}({table})")


def test_an_error_during_the_migration_leaves_the_old_library(old: OldLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    before = old.rows("SELECT * FROM told"), old.rows("SELECT * FROM meta")
    with monkeypatch.context() as patch:
        patch.setattr(migration, "rename_keys", _fail)
        with pytest.raises(RuntimeError, match="in the middle"):
            Library.open(old.path)
    assert (old.rows("SELECT * FROM told"), old.rows("SELECT * FROM meta")) == before
    with Library.open(old.path) as library:
        assert library.check() == []


KILLED = """
import os, signal, sys
from seetell.library import Library
from seetell.library.storage import migration, rows
migration.rename_keys = lambda row: os.kill(os.getpid(), signal.SIGKILL)
Library.open(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_kill_during_the_migration_leaves_the_old_library(old: OldLibrary) -> None:
    before = old.rows("SELECT * FROM told")
    result = subprocess.run([sys.executable, "-c", KILLED, str(old.path)], check=False)
    assert result.returncode == -9
    assert old.rows("SELECT * FROM told") == before
    with Library.open(old.path) as library:
        assert library.get(2).caption == "Our old garden"
        assert library.check() == []


def test_not_while_the_previous_version_is_indexing(old: OldLibrary) -> None:
    with index_lock(old.path), pytest.raises(LibraryError, match="is indexing"):
        Library.open(old.path)
    assert old.rows("SELECT value FROM meta WHERE key = 'format'") == [("1",)]


def test_two_processes_open_it_at_once(old: OldLibrary) -> None:
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: Library.open(old.path), range(4)))
    for library in opened:
        assert library.get(2).caption == "Our old garden"
        library.close()


@pytest.mark.parametrize("damage", [lambda data: data, lambda data: data[: len(data) // 2], lambda data: b"nothing"])
def test_a_damaged_old_library_keeps_what_people_wrote(old: OldLibrary, damage: Callable[[bytes], bytes]) -> None:
    file = old.path / "library.db"
    file.write_bytes(damage(file.read_bytes()))
    Library.rebuild(old.path)
    edits = [row[0] for row in old.rows("SELECT caption FROM edits ORDER BY caption")]
    assert edits == ["Grandma's 80th birthday in Lyon", "Our old garden", "The picture that was deleted later"]
    assert len(old.rows("SELECT * FROM descriptions")) == 2
    with Library.open(old.path) as library:
        assert library.check() == []
        if damage(b"12") == b"12":  # nothing is damaged
            assert library.info().images == 4
            assert library.info().fingerprint == OLD_MODEL
            assert library.get(3).labels == ("umbrella",)


def test_an_unfinished_reindex_the_index_and_the_server_s_list_are_kept(old: OldLibrary) -> None:
    old.write("INSERT INTO meta VALUES ('coming', '7')")
    old.write("INSERT INTO meta VALUES ('index', ?)", json.dumps({"file": "f", "size": 1, "bundle": 1, "through": 5}))
    old.write("CREATE TABLE gone (picture INTEGER PRIMARY KEY)")
    old.write("INSERT INTO gone VALUES (5)")
    Library.open(old.path).close()
    meta = dict(old.rows("SELECT key, value FROM meta"))  # type: ignore[arg-type]
    assert meta["next_model"] == "7"
    assert json.loads(meta["index"]) == {"file": "f", "size": 1, "model": 1, "through": 5}
    assert old.rows("SELECT image FROM removed_images") == [(5,)]
    (calibration,) = old.rows("SELECT calibration FROM models")[0]
    assert set(json.loads(str(calibration))) == {"texts", "images", "count"}


def test_a_later_format_is_refused_with_the_remedy(tmp_path: Path) -> None:
    database = Database(tmp_path / "library")
    with database.write() as connection:
        connection.execute("UPDATE meta SET value = '3' WHERE key = 'format'")
    database.close()
    with pytest.raises(LibraryError, match=r"format 3.*up to 2.*pip install --upgrade seetell"):
        Library.open(tmp_path / "library")


@pytest.fixture
def successor(colours: Path, tmp_path: Path) -> Path:
    """A model with another fingerprint that computes the same results as `colours`."""
    fingerprint = read_manifest(colours).fingerprint
    copied = tiny_bundles.copy(colours, tmp_path / "successor")
    return tiny_bundles.forge(copied, lambda content: content.update(supersedes=[fingerprint], precision="float16"))


def test_a_named_model_that_supersedes_the_library_s_takes_over(library: Library, successor: Path) -> None:
    before = library.search("red", k=12)
    with Library.open(library.path, model=successor) as moved:
        assert [hit.image.id for hit in moved.search("red", k=12)] == [hit.image.id for hit in before]
        assert moved.info().fingerprint == read_manifest(successor).fingerprint
        assert moved.update().unchanged == 12
        assert moved.check() == []


def test_an_installed_model_that_supersedes_the_library_s_takes_over(
    library: Library, colours: Path, successor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with library._database.write() as connection:
        connection.execute("UPDATE models SET path = ?", (str(tmp_path / "gone"),))
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "models"))
    shutil.copytree(successor, tmp_path / "models" / "successor")
    with Library.open(library.path) as moved:
        assert moved.search("red", k=1)[0].image.labels == ("red",)
        assert moved.info().model_path == os.path.abspath(tmp_path / "models" / "successor")


def test_reindexing_to_a_model_that_supersedes_the_library_s_encodes_nothing(library: Library, successor: Path) -> None:
    report = library.reindex(successor)
    assert (report.indexed, report.removed) == (0, 0)
    assert library.info().fingerprint == read_manifest(successor).fingerprint
    assert library.check() == []


def test_a_model_takes_over_while_a_reindex_to_it_is_unfinished(library: Library, successor: Path) -> None:
    with library._database.write() as connection:
        number = rows.add_model(connection, read_manifest(successor), "nowhere")
        rows.set_meta(connection, "next_model", number)
        rows.add_prediction(connection, 1, number, Description("", embedding=np.zeros(8, np.float32)))
    with Library.open(library.path, model=successor) as moved:
        assert moved.search("red", k=1)[0].image.labels == ("red",)
        assert moved.info().next_model == ""
        assert moved.check() == []


def _fail(row: object) -> object:
    raise RuntimeError("in the middle")
