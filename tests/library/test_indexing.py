"""What a library knows after its folders changed."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from seetell.library import Filters, Library, LibraryError
from seetell.progress import Event, Progress
from seetell.runtime import open_model

Painter = Callable[..., Path]


def names(library: Library) -> list[str]:
    return sorted(Path(file).name for image in library.images(limit=1000) for file in image.files)


def test_images_are_stored_as_the_model_describes_them(library: Library, photos: Path, colours: Path) -> None:
    info = library.info()
    assert (info.images, info.files, info.unreadable) == (12, 12, 0)
    assert info.folders == (str(photos),)
    assert library.check() == []
    with open_model(colours) as model:
        for path in photos.rglob("*.png"):
            image, described = library.find(path), model.describe(path)
            assert image is not None
            assert image.caption == described.text
            assert [(tag.label, pytest.approx(tag.confidence, abs=1e-4)) for tag in described.tags] == [
                (tag.label, tag.confidence) for tag in image.tags
            ]
            assert (image.width, image.height, image.bytes) == (24, 24, path.stat().st_size)
            found = library.search(described.tags[0].label, k=12, rank="embedding")
            similarity = next(each.similarity for each in found if each.image.id == image.id)
            texts = model.retriever.embed_texts([described.tags[0].label])
            assert described.embedding is not None
            assert similarity == pytest.approx(
                model.retriever.similarity.scores(described.embedding[None], texts)[0, 0], abs=1e-6
            )


def test_nothing_new_opens_no_image_and_no_model(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seetell.library.indexing.update.hash_file", lambda path: pytest.fail("it was read"))
    monkeypatch.setattr("seetell.library.current_model.Model", lambda *_, **__: pytest.fail("the model was loaded"))
    report = library.update()
    assert (report.indexed, report.unchanged, report.problems) == (0, 12, [])


def test_new_changed_moved_copied_and_gone(library: Library, photos: Path, paint: Painter) -> None:
    edited = library.find(photos / "red" / "0.png")
    assert edited is not None
    library.edit(edited.id, caption="the first one")
    (photos / "red" / "0.png").rename(photos / "moved.png")
    shutil.copy(photos / "red" / "1.png", photos / "copy.png")
    (photos / "green" / "0.png").unlink()
    paint("blue/0.png", (10, 10, 90), seed=77)
    paint("new.png", (200, 200, 20), seed=78)
    report = library.update()
    assert (report.indexed, report.moved, report.unchanged, report.removed) == (2, 2, 9, 2)
    moved = library.find(photos / "moved.png")
    assert moved is not None
    assert (moved.id, moved.caption, moved.files) == (edited.id, "the first one", (str(photos / "moved.png"),))
    copied = library.find(photos / "copy.png")
    assert copied is not None
    assert sorted(Path(each).name for each in copied.files) == ["1.png", "copy.png"]
    assert library.find(photos / "green" / "0.png") is None
    assert library.info().images == 12
    assert library.check() == []
    assert library.update().unchanged == 13


def test_two_new_files_of_one_content_are_described_once(tmp_path: Path, bundle: Path, photos: Path) -> None:
    shutil.copytree(photos / "red", photos / "again")
    with Library.open(tmp_path / "library", model=bundle) as library:
        report = library.update([photos])
        assert (report.indexed, report.moved) == (12, 4)
        assert library.info().files == 16
        assert library.check() == []


def test_unreadable_files_are_remembered_and_tried_again_when_they_change(
    library: Library, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = photos / "bad.jpg"
    bad.write_bytes(b"\xff\xd8\xff nothing")
    (photos / "empty.png").touch()
    report = library.update()
    assert {Path(problem.path).name for problem in report.problems} == {"bad.jpg", "empty.png"}
    assert all(problem.reason for problem in report.problems)
    with monkeypatch.context() as patch:
        patch.setattr("seetell.library.indexing.update.hash_file", lambda path: pytest.fail("it was tried again"))
        again = library.update()
    assert (again.unreadable, again.problems) == (2, [])
    shutil.copy(photos / "red" / "2.png", bad)
    os.utime(bad, ns=(1, 1))
    assert library.update().unreadable == 1
    assert library.find(bad) is not None


def test_edits_come_back_with_the_image(library: Library, photos: Path, tmp_path: Path) -> None:
    path = photos / "red" / "3.png"
    image = library.find(path)
    assert image is not None
    library.edit(image.id, caption="my own words", tags=["mine"])
    away = path.rename(tmp_path / "away.png")
    library.update()
    assert library.search("own words", k=1)[0].words == ()
    away.rename(path)
    library.update()
    back = library.find(path)
    assert back is not None
    assert (back.caption, back.labels, back.edited) == ("my own words", ("mine",), {"caption", "tags"})


def test_edits_stay_when_only_the_metadata_of_a_file_change(library: Library, photos: Path, paint: Painter) -> None:
    same, other = photos / "red" / "0.png", photos / "red" / "1.png"
    for path in (same, other):
        image = library.find(path)
        assert image is not None
        library.edit(image.id, caption="my own words")
    info = PngInfo()
    info.add_text("Software", "an image manager")
    with Image.open(same) as opened:
        opened.save(same, pnginfo=info)
    paint("red/1.png", (40, 200, 40), seed=99)
    assert library.update().indexed == 2
    kept, lost = library.find(same), library.find(other)
    assert kept is not None
    assert lost is not None
    assert (kept.caption, lost.edited) == ("my own words", frozenset())
    assert library.search("own words", k=1)[0].image == kept
    assert kept.hash in (library.path / "edits.jsonl").read_text(encoding="utf-8")  # whatever happens to the database


def test_a_folder_that_is_away_is_not_forgotten(library: Library, photos: Path, tmp_path: Path) -> None:
    photos.rename(tmp_path / "away")
    report = library.update()
    assert "not there" in report.problems[0].reason
    photos.mkdir()  # as where a disk is mounted
    report = library.update()
    assert "all 12 images" in report.problems[0].reason
    assert library.info().images == 12
    assert library.forget(photos) == 12
    assert library.info().images == library.info().files == 0
    assert library.info().folders == ()
    assert library.check() == []


def test_folders_inside_each_other_are_one(tmp_path: Path, bundle: Path, photos: Path) -> None:
    with Library.open(tmp_path / "library", model=bundle) as library:
        assert library.update([photos / "red"]).indexed == 4
        assert library.update([photos, photos / "blue"]).indexed == 8
        assert library.info().folders == (str(photos),)
        (photos / "red" / "0.png").unlink()
        assert library.update([photos / "blue"]).removed == 0
        assert library.update([photos / "red"]).removed == 1
        with pytest.raises(LibraryError, match="no such folder"):
            library.update([tmp_path / "nowhere"])
        with pytest.raises(LibraryError, match="not a folder"):
            library.update([photos / "red" / "1.png"])


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="these file systems know only text")
def test_file_names_that_are_not_text(tmp_path: Path, bundle: Path, photos: Path) -> None:
    odd = os.fsencode(photos) + b"/caf\xe9 \n'\".png"
    shutil.copy(photos / "red" / "0.png", os.fsdecode(odd))
    with Library.open(tmp_path / "library", model=bundle) as library:
        library.update([photos])
        image = library.find(os.fsdecode(odd))
        assert image is not None
        assert odd in [os.fsencode(each) for each in image.files]
        assert library.update().unchanged == 13
        assert library.export(tmp_path / "out.jsonl", "jsonl") == 13
        assert library.export(tmp_path / "out.csv", "csv") == 13


def test_stopping_keeps_what_is_done(tmp_path: Path, bundle: Path, paint: Painter) -> None:
    for number in range(150):
        path = paint(f"{number}.png", seed=number)
    stop = threading.Event()

    def watcher(event: Event) -> None:
        if event.task == "Indexing" and event.done:
            stop.set()

    with Library.open(tmp_path / "library", model=bundle, threads=1) as library:
        report = library.update([path.parent], progress=Progress(watcher), stop=stop)
        assert report.stopped
        assert 0 < report.indexed < 150
        assert library.info().images == report.indexed
        assert library.check() == []
        rest = library.update()
        assert rest.indexed + report.indexed == 150


def test_progress_counts_every_new_file(tmp_path: Path, bundle: Path, photos: Path) -> None:
    shutil.copytree(photos / "red", photos / "again")
    (photos / "bad.jpg").write_bytes(b"no image")
    events: list[Event] = []
    with Library.open(tmp_path / "library", model=bundle) as library:
        library.update([photos], progress=Progress(events.append))
    assert (events[-1].done, events[-1].total, events[-1].finished) == (17, 17, True)


def test_thousands_of_known_files_take_no_time(tmp_path: Path, bundle: Path, paint: Painter) -> None:
    """The scan and the comparison alone; an image each would be another test."""
    source = paint("0.png")
    for number in range(1, 4000):
        os.link(source, source.with_name(f"{number}.png"))
    with Library.open(tmp_path / "library", model=bundle) as library:
        library.update([source.parent])
        begin = time.process_time()  # whatever else the machine does
        assert library.update().unchanged == 4000
        assert time.process_time() - begin < 1.5


def test_another_model_is_refused(library: Library, bundle: Path, photos: Path) -> None:
    with Library.open(library.path, model=bundle) as other:
        with pytest.raises(LibraryError, match="reindex --model") as error:
            other.update([photos])
        assert "cannot be compared" in str(error.value)
        with pytest.raises(LibraryError):
            other.search("red")


def test_a_model_is_found_again_by_its_fingerprint(
    tmp_path: Path, bundle: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = shutil.copytree(bundle, tmp_path / "here")
    with Library.open(tmp_path / "library", model=here) as library:
        library.update([photos])
    here.rename(tmp_path / "there")
    with Library.open(tmp_path / "library") as library:
        with pytest.raises(LibraryError, match="not there any more"):
            library.search("red")
        assert library.search(filters=Filters(tags=["red"]), k=1)[0].matches
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "bundles"))
    shutil.copytree(tmp_path / "there", tmp_path / "bundles" / "renamed")
    with Library.open(tmp_path / "library") as library:
        assert len(library.search("red", k=3)) == 3
