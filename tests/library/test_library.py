"""Editing, moving to another model, watching, duplicates, descriptions, exports."""

import csv
import io
import json
import os
import shutil
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seetell.library import AlertMatch, Filters, Library, LibraryError, Report
from seetell.library.indexing.reading import difference_hash
from seetell.library.search import duplicates
from seetell.progress import Event, Progress
from seetell.runtime import open_model

Painter = Callable[..., Path]


def test_edits_are_kept_searched_and_taken_back(library: Library) -> None:
    before = library.get(5)
    edited = library.edit(5, caption="  Harbour at \n dusk ", tags=["sea", "sea", " boats "])
    assert (edited.caption, edited.labels, edited.edited) == ("Harbour at dusk", ("boats", "sea"), {"caption", "tags"})
    assert [tag.confidence for tag in edited.tags] == [1, 1]
    assert library.search(filters=Filters(tags=["sea"]), k=5)[0].image == edited
    assert library.search("boats in the harbour", k=1)[0].image.id == 5
    assert library.edit(5, caption="").labels == ("boats", "sea")
    assert library.edit(5, tags=None) == before
    assert not library.search("harbour", k=1)[0].matches
    assert library.edit(5, tags=[]).labels == ()
    with Library.open(library.path) as again:
        assert again.get(5).edited == {"tags"}
        assert again.info().edited == 1
    with pytest.raises(LibraryError, match="200 tags"):
        library.edit(5, tags=[str(number) for number in range(300)])


def test_moving_to_another_model(library: Library, bundle: Path, colours: Path, photos: Path) -> None:
    edited = library.edit(2, caption="mine")
    served: list[bool] = []

    def watcher(event: Event) -> None:
        with Library.open(library.path) as other:  # another process would do the same
            assert other.info().next_model in ("tiny", "")
            served.append(other.search("red", k=1)[0].image.labels == ("red",))

    with Library.open(library.path) as reader:
        reader.search("red")
        report = library.reindex(bundle, progress=Progress(watcher))
        assert served
        assert all(served)
        assert (report.indexed, report.problems) == (12, [])
        with open_model(bundle) as model:
            for each in library.images():
                if each.id != edited.id:
                    assert each.caption == model.captioner(each.path).text
            # The one that was open all the time uses the new model from now on.
            text = model.retriever.embed_texts(["red"])
            best = reader.search("red", k=1, rank="embedding")[0]
            vector = model.retriever.images(best.image.path).vector
            assert best.similarity == pytest.approx(
                model.retriever.similarity.scores(vector[None], text)[0, 0], abs=1e-5
            )
    assert library.get(2).caption == "mine"
    assert library.info().fingerprint == model.bundle.fingerprint
    assert library.check() == []
    assert library.reindex(bundle).indexed == 0
    assert library.update().unchanged == 12


def test_a_stopped_reindex_resumes(tmp_path: Path, bundle: Path, colours: Path, paint: Painter) -> None:
    for number in range(150):
        photo = paint(f"{number}.png", seed=number)
    stop = threading.Event()
    with Library.open(tmp_path / "library", model=colours, threads=1) as library:
        library.update([photo.parent])

        def watcher(event: Event) -> None:
            if event.done >= 64:
                stop.set()

        first = library.reindex(bundle, progress=Progress(watcher), stop=stop)
        assert first.stopped
        assert 0 < first.indexed < 150
        assert library.info().next_model == "tiny"
        assert len(library.search("red", k=150)) == 150
        os.unlink(library.get(150).path)
        second = library.reindex(bundle)
        assert second.indexed == 149 - first.indexed
        assert len(second.problems) == second.removed == 1
        assert library.info().next_model == ""
        assert library.info().images == 149
        assert library.check() == []


def test_watching_reports_new_images_that_match(library: Library, paint: Painter, photos: Path) -> None:
    library.calibrate([("red", number, number > 8) for number in range(1, 13)])  # the last four are red
    stop = threading.Event()
    seen: list[AlertMatch | Report] = []

    def drop() -> None:
        paint("later/red.png", (240, 20, 20), seed=500)
        paint("later/blue.png", (20, 20, 240), seed=501)

    threading.Timer(0.3, drop).start()
    late = threading.Timer(300, stop.set)  # so that a failure does not last for ever
    late.start()
    for each in library.watch([photos], alerts=["a red thing"], every=0.1, stop=stop):
        seen.append(each)
        if sum(each.indexed for each in seen if isinstance(each, Report)) == 2:
            stop.set()
    late.cancel()
    sightings = [each for each in seen if isinstance(each, AlertMatch)]
    assert [(Path(each.image.path).name, each.alert) for each in sightings] == [("red.png", "a red thing")]
    assert 0.5 <= sightings[0].relevance <= 1


def test_what_is_there_when_watching_begins_is_not_new(tmp_path: Path, colours: Path, photos: Path) -> None:
    stop = threading.Event()
    with Library.open(tmp_path / "library", model=colours) as library:
        for each in library.watch([photos], alerts=["red"], every=0.1, stop=stop):
            assert isinstance(each, Report)
            assert each.indexed == 12
            stop.set()


def photograph(seed: int) -> Image.Image:
    """Something with large and small shapes."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((320, 240), Image.Resampling.BICUBIC)


def test_duplicates(tmp_path: Path, bundle: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for seed in range(6):
        photograph(seed).save(photos / f"{seed}.png")
    photograph(0).resize((160, 120)).save(photos / "0 small.jpg", quality=60)
    photograph(0).point(lambda value: min(255, value + 12)).save(photos / "0 brighter.png")
    shutil.copy(photos / "3.png", photos / "3 copy.png")
    Image.new("RGB", (50, 50), (250, 0, 0)).save(photos / "flat red.png")  # flat images have the same difference hash
    Image.new("RGB", (50, 50), (0, 0, 250)).save(photos / "flat blue.png")
    with Library.open(tmp_path / "library", model=bundle) as library:
        library.update([photos])
        groups = [sorted(Path(file).name for each in group for file in each.files) for group in library.duplicates()]
        assert sorted(groups) == [
            ["0 brighter.png", "0 small.jpg", "0.png"],
            ["3 copy.png", "3.png"],
        ]
        assert library.duplicates(bits=0)


def test_the_difference_hash_by_hand() -> None:
    pixels = np.zeros((8, 9, 3), np.uint8)
    pixels[0, 0] = 255  # brighter than its neighbour on the right: the first bit, which is the sign
    assert difference_hash(pixels) == -(1 << 63)
    pixels[7, 7] = 255
    assert difference_hash(pixels) == -(1 << 63) + 1


def test_descriptions_from_a_table_and_from_the_files(library: Library, photos: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(
        "image,caption,keywords\nphotos/red/0.png,An armadillo asleep,zoo;night\nphotos/red/0.png,It snores,\n"
        "nowhere.png,lost,\n0.png,ambiguous,\n",
        encoding="utf-8",
    )
    imported = library.import_descriptions(table)
    assert (imported.described, imported.missing, imported.skipped) == (1, 2, ())
    best = library.search("armadillo at night", k=1)[0]
    assert best.image.path == str(photos / "red" / "0.png")
    assert best.image.description == "An armadillo asleep · zoo, night · It snores"
    assert best.matches
    exif = Image.Exif()
    exif[0x010E] = "A pangolin in the file"
    Image.new("RGB", (30, 30), (9, 9, 9)).save(photos / "described.jpg", exif=exif)
    library.update()
    assert library.search("pangolin", k=1)[0].image.path == str(photos / "described.jpg")
    assert library.check() == []


def test_exports(library: Library, photos: Path, tmp_path: Path) -> None:
    image = library.find(photos / "red" / "1.png")
    assert image is not None
    library.edit(image.id, caption='=SUM(1), "quoted" & <tagged>', tags=["a & b"])
    shutil.copy(photos / "red" / "1.png", photos / "copy.png")
    library.update()
    assert library.export(tmp_path / "out.csv", "csv") == 13
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"))))
    assert {row["path"] for row in rows} == {str(path) for path in photos.rglob("*.png")}
    assert next(row for row in rows if row["path"] == image.path)["caption"] == '\'=SUM(1), "quoted" & <tagged>'
    assert library.export(tmp_path / "out.jsonl", "jsonl") == 13
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    row = next(line for line in lines if line["path"] == image.path)
    assert row["tags"] == [{"label": "a & b", "confidence": 1.0}]
    assert (row["edited"], row["hash"]) == (["caption", "tags"], image.hash)
    (photos / "red" / "0.xmp").write_text("mine", encoding="utf-8")
    assert library.export(None, "xmp") == 12
    assert (photos / "red" / "0.xmp").read_text(encoding="utf-8") == "mine"
    tree = ET.parse(photos / "red" / "1.xmp")
    items = [item.text for item in tree.iter("{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li")]
    assert items == ['=SUM(1), "quoted" & <tagged>', '=SUM(1), "quoted" & <tagged>', "a & b"]
    with pytest.raises(LibraryError, match="csv, jsonl or xmp"):
        library.export(tmp_path / "out.xlsx", "xlsx")
    assert not list(tmp_path.rglob("*.part"))


def test_a_library_fits_its_relevance_to_its_own_texts(tmp_path: Path, colours: Path, paint: Painter) -> None:
    """Images of three colours, each with its name for a description: then the words mean the images."""
    random = np.random.default_rng(0)
    rows = ["file,caption"]
    for number in range(90):
        name = ("red", "green", "blue")[number % 3]
        colour = random.integers(0, 90, 3)
        colour[number % 3] = random.integers(140, 256)
        paint(f"{number}.png", tuple(colour.tolist()), seed=number)
        rows.append(f"{number}.png,it is {name}")
    (tmp_path / "photos" / "table.csv").write_text("\n".join(rows), encoding="utf-8")
    with Library.open(tmp_path / "library", model=colours) as library:
        library.update([tmp_path / "photos"])
        library.import_descriptions(tmp_path / "photos" / "table.csv")
        fitted = library.calibrate()
        assert (fitted.how, fitted.prior) == ("library", pytest.approx(1 / 3, abs=0.01))
        found = library.search("red", k=90, rank="embedding")
        right = np.array(["red" in each.image.description for each in found])
        chances = np.array([each.relevance for each in found])
        assert right[:30].all()
        assert len(found.matching) == pytest.approx(30, abs=3)
        assert ((chances - right) ** 2).mean() < 0.05
        judged = library.calibrate([("blue", each.id, "blue" in each.description) for each in library.images(limit=90)])
        assert judged.how == "judged"
        assert len(library.search("blue", k=90, rank="embedding").matching) == pytest.approx(30, abs=3)


def test_the_users_own_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEETELL_LIBRARY", str(tmp_path / "mine"))
    with Library.open() as library:
        assert library.path == tmp_path / "mine"
    assert os.path.isfile(tmp_path / "mine" / "library.db")


def test_a_closed_library_raises(tmp_path: Path, bundle: Path) -> None:
    library = Library.open(tmp_path / "library", model=bundle)
    library.close()
    with pytest.raises(LibraryError, match="closed"):
        library.info()


def test_counts_and_contents(library: Library) -> None:
    assert library.count() == len(library.content_hashes()) == 12
    assert library.count(Filters(tags=["red"])) == len(library.browse(Filters(tags=["red"]))) == 4
    assert library.count(Filters(tags=["red"], not_tags=["red"])) == 0
    assert library.count(Filters(folder=library.info().folders[0], since=0)) == 12
    assert {each.hash for each in library.images(limit=12)} == library.content_hashes()


def test_an_embedding_stands_for_its_image(library: Library) -> None:
    path = library.images(Filters(tags=["blue"]))[0].path
    seen = library.model.retriever.images(path)
    by_embedding, by_image = library.search(like=seen, k=12), library.search(like=path, k=12)
    assert [each.image.id for each in by_embedding] == [each.image.id for each in by_image]
    assert by_embedding[0].image.labels == ("blue",)


def test_pairs_of_duplicates_are_enumerated_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    real = duplicates._pairs

    def counted(hashes: np.ndarray, bits: int) -> Iterator[tuple[int, int]]:
        calls.append(bits)
        return real(hashes, bits)

    monkeypatch.setattr(duplicates, "_pairs", counted)
    library.duplicates()
    assert calls == [7]
    random = np.random.default_rng(0)
    hashes = random.integers(0, 256, (1, 8), dtype=np.uint8) ^ (random.random((60, 8)) < 0.2).astype(np.uint8)
    near = [
        (one, other)
        for one in range(60)
        for other in range(one + 1, 60)
        if sum(int(each).bit_count() for each in hashes[one] ^ hashes[other]) <= 2
    ]
    assert sorted(tuple(sorted(pair)) for pair in real(hashes, 2)) == near


def test_the_library_walks_folders_as_the_captioner_does(library: Library, photos: Path) -> None:
    """Both list files with `seetell.files.scan`: hidden folders are left out, links are followed once."""
    (photos / ".thumbnails").mkdir()
    shutil.copy(photos / "red" / "0.png", photos / ".thumbnails" / "hidden.png")
    Image.new("RGB", (9, 9)).save(photos / "._resource.png")
    assert library.update().unchanged == 12
    assert library.info().files == 12


def test_short_representations(library: Library) -> None:
    results = library.search("red", k=3)
    assert len(repr(results)) < 60
    assert repr(results[0]).startswith("SearchHit(relevance=")
    assert "\n" not in repr(results[0].image)
    assert repr(library) == f"Library({str(library.path)!r})"


def test_a_text_is_not_a_list_of_tags(library: Library) -> None:
    with pytest.raises(LibraryError, match="list of tags"):
        library.edit(1, tags="beach")
