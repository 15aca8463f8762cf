"""What may happen to a library: kills, full disks, two indexers, damage."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from seetell.library import DamagedError, Library, LibraryError
from seetell.library.indexing import describing, update
from seetell.library.indexing.messages import PendingFile
from seetell.library.storage import database

Painter = Callable[..., Path]

# Indexes and reports its progress; then edits one image after another for as long as it lives.
CHILD = """
import sys
from seetell.library import Library
from seetell.progress import Progress
library, model, photos, again = sys.argv[1:]
with Library.open(library, model=model or None) as opened:
    progress = Progress(lambda event: print("done", event.task, event.done, flush=True))
    print("ready", flush=True)
    if again:
        opened.reindex(again, progress=progress)
    else:
        opened.update([photos], progress=progress)
    for image in opened.images(limit=10000):
        opened.edit(image.id, caption=f"edited {image.hash}")
        print("edited", image.hash, flush=True)
"""


def run_and_kill(library: Path, bundle: Path | str, photos: Path, again: Path | str, after: float) -> list[str]:
    """The output of the child before it was killed, `after` seconds after it was ready."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(library), str(bundle), str(photos), str(again)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    timer = threading.Timer(60, child.kill)
    assert child.stdout is not None
    lines = []
    try:
        for line in child.stdout:
            if line.endswith("\n"):  # the last one may be cut off
                lines.append(line.strip())
            if line.startswith("ready"):
                timer = threading.Timer(after, child.kill)
                timer.start()
        _, errors = child.communicate()
    finally:
        timer.cancel()
    assert child.returncode in (0, -9, 1), errors
    assert not errors, errors
    return lines


def check_after_kill(path: Path, output: list[str]) -> None:
    with Library.open(path) as library:
        assert library.check() == []
        done = [int(line.split()[-1]) for line in output if line.startswith("done Indexing")]
        info = library.info()
        assert info.files >= max(done, default=0)  # everything reported as done is there
        captions = {image.hash: image.caption for image in library.images(limit=10_000)}
        for line in output:
            if line.startswith("edited"):
                assert captions[line.split()[1]] == f"edited {line.split()[1]}"


def kill_again_and_again(tmp_path: Path, paint: Painter, bundle: Path, colours: Path, kills: int, seed: int) -> None:
    count = 300
    for number in range(count):
        photo = paint(f"{number % 7}/{number}.png", seed=number)
    photos, library = photo.parents[1], tmp_path / "library"
    chance = random.Random(seed)
    for round_ in range(kills):
        moving = round_ >= kills // 2  # the second half moves to the other model and back
        again = (bundle, colours)[round_ % 2] if moving else ""
        output = run_and_kill(library, "" if moving else bundle, photos, again, chance.uniform(0, 1.5))
        if (library / "library.db").exists():
            check_after_kill(library, output)
    with Library.open(library) as opened:
        opened.update([photos])
        opened.reindex(colours)
        assert opened.info().images == count
        assert opened.info().next_model == ""
        assert opened.check() == []
    assert not list(library.glob("damaged-*"))


def test_kills_leave_it_whole_and_lose_nothing(tmp_path: Path, paint: Painter, bundle: Path, colours: Path) -> None:
    kill_again_and_again(tmp_path, paint, bundle, colours, kills=4, seed=1)


@pytest.mark.slow
def test_fifty_kills(tmp_path: Path, paint: Painter, bundle: Path, colours: Path) -> None:
    kill_again_and_again(tmp_path, paint, bundle, colours, kills=50, seed=2)


def limit_pages(monkeypatch: pytest.MonkeyPatch, more: int, tmp_path: Path) -> None:
    """A disk that is full for SQLite: so many pages more than an empty library has."""
    real = database.connect
    Library.open(tmp_path / "empty").close()
    with contextlib.closing(real(tmp_path / "empty" / "library.db")) as empty:
        pages = empty.execute("PRAGMA page_count").fetchone()[0] + more

    def small(path: Path) -> sqlite3.Connection:
        connection = real(path)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(database, "connect", small)


def test_a_full_disk_keeps_what_is_finished(
    tmp_path: Path, bundle: Path, paint: Painter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        photo = paint(f"{number}.png", seed=number)
    with monkeypatch.context() as patch:
        limit_pages(patch, 3, tmp_path)
        with Library.open(tmp_path / "library", model=bundle) as library:
            with pytest.raises(LibraryError, match=r"disk is full.*Free some space"):
                library.update([photo.parent])
            done = library.info().images
            assert 0 < done < 200
            assert library.check() == []
            assert len(library.search("red", k=3)) == 3
    with Library.open(tmp_path / "library") as library:
        assert library.update().indexed == 200 - done
        assert library.check() == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_edit_that_cannot_be_kept_is_refused(library: Library) -> None:
    before = library.get(1).caption
    (library.path / "edits.jsonl").symlink_to("/dev/full")
    with pytest.raises(LibraryError, match="cannot be written"):
        library.edit(1, caption="lost words")
    assert library.get(1).caption == before


def test_images_that_vanish_or_change_while_they_are_read(
    tmp_path: Path, bundle: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_hash, real_read = update.hash_file, describing.read_image

    def vanishes_before(path: str) -> PendingFile:
        if path.endswith(os.path.join("red", "0.png")):
            os.unlink(path)
        return real_hash(path)

    def vanishes_between(file: PendingFile, at_least: int) -> object:
        if file.path.endswith(os.path.join("red", "1.png")):
            os.unlink(file.path)
        if file.path.endswith(os.path.join("red", "2.png")):
            shutil.copy(photos / "blue" / "0.png", file.path)
        return real_read(file, at_least)

    monkeypatch.setattr(update, "hash_file", vanishes_before)
    monkeypatch.setattr(describing, "read_image", vanishes_between)
    with Library.open(tmp_path / "library", model=bundle) as library:
        report = library.update([photos])
        assert report.indexed == 9
        assert [Path(problem.path).name for problem in report.problems] == ["2.png"]
        assert "changed while it was read" in report.problems[0].reason
        assert library.check() == []
        monkeypatch.undo()
        assert library.update().moved == 1
        assert library.info().unreadable == 0


def test_a_second_indexer_is_refused_but_may_search(library: Library, photos: Path) -> None:
    with Library.open(library.path) as other:
        inside = threading.Event()
        done = threading.Event()

        def hold() -> None:
            from seetell.library.storage.lock import index_lock

            with index_lock(library.path):
                inside.set()
                done.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait(30)
        try:
            with pytest.raises(LibraryError, match=f"process {os.getpid()}") as error:
                other.update([photos])
            assert "searching works" in str(error.value)
            assert len(other.search("red", k=2)) == 2
            other.edit(1, caption="written meanwhile")
        finally:
            done.set()
            thread.join()
        assert other.update().unchanged == 12


def test_many_readers_and_a_writer(library: Library, paint: Painter, photos: Path) -> None:
    for number in range(150):
        paint(f"more/{number}.png", (200, 40, 40), seed=1000 + number)
    stop, errors, answers = threading.Event(), list[BaseException](), list[int]()

    def read() -> None:
        try:
            while not stop.is_set():
                found = library.search("red", k=5)
                answers.append(len(found))
                library.similar(found[0].image.id, k=3)
                library.tags()
        except BaseException as error:
            errors.append(error)

    def write() -> None:
        try:
            for number in range(30):
                library.edit(1 + number % 12, caption=f"edit {number}")
        except BaseException as error:
            errors.append(error)

    threads = [*(threading.Thread(target=read) for _ in range(4)), threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    report = library.update()
    threads[-1].join()
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors, errors
    assert report.indexed == 150
    assert set(answers) == {5}
    assert len(library.search("red", k=200)) == 162
    assert library.check() == []


DAMAGES = {
    "no database at all": lambda data: b"this is not a database" * 500,
    "first page": lambda data: b"\0" * 4096 + data[4096:],
    "cut in half": lambda data: data[: len(data) // 2],
    "pages in the middle": lambda data: data[: len(data) // 3] + os.urandom(8192) + data[len(data) // 3 + 8192 :],
    "empty": lambda data: data[:100],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed_and_edits_survive_it(tmp_path: Path, bundle: Path, paint: Painter, damage: str) -> None:
    for number in range(60):
        photo = paint(f"{number}.png", seed=number)
    path = tmp_path / "library"
    with Library.open(path, model=bundle) as library:
        library.update([photo.parent])
        library.edit(7, caption="seven words of mine", tags=["mine"])
        (tmp_path / "table.csv").write_text("file,caption\n8.png,described elsewhere\n", encoding="utf-8")
        assert library.import_descriptions(tmp_path / "table.csv", images=photo.parent).described == 1
        mine, described = library.get(7), library.find(photo.parent / "8.png")
    file = path / "library.db"
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.raises(DamagedError, match="library check --repair"), Library.open(path, model=bundle) as library:
        library._database.check()
    with Library.open(path, model=bundle, repair=True) as library:
        assert library.rebuilt
        report = library.update([photo.parent])
        assert report.rebuilt == library.rebuilt
        assert library.info().images == 60
        again = library.find(mine.path)
        assert again is not None
        assert (again.caption, again.labels) == ("seven words of mine", ("mine",))
        assert library.search("words of mine", k=1)[0].image.hash == mine.hash
        assert described is not None
        assert library.find(described.path).description == "described elsewhere"  # type: ignore[union-attr]
        assert library.check() == []
    with Library.open(path, repair=True) as library:
        assert library.rebuilt == ""


def test_a_rebuilt_library_keeps_what_can_be_read(library: Library, photos: Path) -> None:
    library.edit(3, caption="kept")
    library.close()
    assert "12 images" in Library.rebuild(library.path)
    with Library.open(library.path) as again:
        assert again.info().images == 12
        assert again.get(3).caption == "kept"
        assert again.update().unchanged == 12
        assert again.check() == []


def test_a_journal_with_an_unfinished_line_is_read(library: Library) -> None:
    library.edit(1, caption="first")
    with open(library.path / "edits.jsonl", "ab") as file:
        file.write(b'{"hash": "00')
    library.edit(2, caption="second")
    library.close()
    (library.path / "library.db").write_bytes(b"gone")
    Library.rebuild(library.path)
    lines = (library.path / "edits.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line)["caption"] for line in lines if line.endswith("}")] == ["first", "second"]
    connection = sqlite3.connect(library.path / "library.db")
    assert [row[0] for row in connection.execute("SELECT caption FROM edits ORDER BY caption")] == ["first", "second"]
    connection.close()


def test_a_newer_format_is_refused(library: Library) -> None:
    with library._database.write() as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    with pytest.raises(LibraryError, match="format 99"):
        Library.open(library.path)
