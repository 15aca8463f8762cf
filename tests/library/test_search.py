"""Searching: by embedding and words, by likeness, by tags, folders and times."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seetell.library import Filters, Library, LibraryError, SearchResults
from seetell.runtime import open_model


def folders(results: SearchResults) -> list[str]:
    return [Path(found.image.path).parent.name for found in results]


def test_the_nearest_come_first_and_k_rows_always(library: Library) -> None:
    for colour in ("red", "green", "blue"):
        found = library.search(f"a {colour} thing", k=12)
        assert folders(found)[:4] == [colour] * 4
        assert len(found) == 12
        chances = [each.relevance for each in found]
        assert chances == sorted(chances, reverse=True)
        assert all(each.matches == (each.relevance >= 0.5) for each in found)
    assert len(library.search("red", k=100)) == 12


def test_rank_by_embedding_alone_equals_the_evaluation_s_ranking(library: Library, photos: Path, colours: Path) -> None:
    paths = sorted(photos.rglob("*.png"))
    with open_model(colours) as model:
        vectors = np.stack([each.vector for each in model.retriever.images(paths)])
        for text in ("red", "blue and green", "red n't green"):
            scores = model.retriever.similarity.scores(vectors, model.retriever.embed_texts([text]))[:, 0]
            found = library.search(text, k=12, rank="embedding")
            assert [each.image.path for each in found] == [str(paths[index]) for index in np.argsort(-scores)]
            np.testing.assert_allclose([each.similarity for each in found], -np.sort(-scores), atol=1e-6)


def test_an_edited_caption_and_a_rare_word_are_found(library: Library, photos: Path) -> None:
    image = library.find(photos / "blue" / "2.png")
    assert image is not None
    library.edit(image.id, caption="Grandmother's Zeppelins over Zürich")
    for text in ("zeppelin", "zurich", "a zeppelin over Zürich", "grandmother"):
        best = library.search(text, k=2)
        assert best[0].image.id == image.id
        assert best[0].matches
        assert not best[1].matches
        assert best.unknown_words == ()
    assert library.search("zeppelin", k=1, rank="embedding")[0].relevance == 0
    assert library.search("zeppelin", k=1)[0].words == ("zeppelin",)


def test_nothing_matches_what_nobody_knows(library: Library) -> None:
    results = library.search("a quokka", k=5)
    assert len(results) == 5
    assert results.matching == ()
    assert results.unknown_words == ("quokka",)
    assert all(found.relevance == 0 for found in results)


@pytest.mark.parametrize(
    "text", ['"', "red AND (", "NEAR(a b)", "written:red", "*", "-red", "^", "red\0blue", "ﬁ 中文 🐕", "x" * 9999]
)
def test_no_text_breaks_the_full_text_search(library: Library, text: str) -> None:
    assert len(library.search(text, k=3)) == 3


def test_filters(library: Library, photos: Path) -> None:
    assert set(folders(library.search(filters=Filters(tags=["red"]), k=12))) == {"red"}
    assert set(folders(library.search(filters=Filters(tags=["RED"], not_tags=["green"]), k=12))) == {"red"}
    assert set(folders(library.search("green", Filters(not_tags=["green"]), k=12))) == {"red", "blue"}
    assert set(folders(library.search("red", Filters(folder=photos / "blue"), k=12))) == {"blue"}
    assert library.search("red", Filters(folder=photos / "blu"), k=12).hits == ()
    old = photos / "red" / "old.png"
    Image.new("RGB", (9, 9), (250, 0, 0)).save(old)
    os.utime(old, (1e9, 1e9))
    library.update()
    assert len(library.search("red", k=20)) == 13
    assert len(library.search("red", Filters(since=time.time() - 3600), k=20)) == 12
    assert {Path(each.path).parent.name for each in library.images(Filters(tags=["red"]))} == {"red"}
    assert [Path(each.path).name for each in library.images()][-1] == "old.png"
    assert len(library.images(offset=10, limit=10)) == 3
    assert library.search(filters=Filters(tags=["red"], since=time.time() + 60), k=12).hits == ()


def test_tags_are_counted(library: Library) -> None:
    counts = {each.label: each.images for each in library.tags()}
    assert counts == {"red": 4, "green": 4, "blue": 4}
    library.edit(1, tags=["holiday", "red"])
    assert {each.label for each in library.tags()} >= {"holiday"}


def test_like_an_image_inside_or_outside(library: Library, photos: Path) -> None:
    image = library.find(photos / "green" / "1.png")
    assert image is not None
    near = library.similar(image.id, k=11)
    assert image.id not in [each.image.id for each in near]
    assert folders(near)[:3] == ["green"] * 3
    assert folders(library.search(like=Image.new("RGB", (9, 9), (0, 0, 255)), k=4)) == ["blue"] * 4
    # Combined, both must hold.
    both = library.search("red", Filters(folder=photos), like=photos / "green" / "1.png", k=12)
    assert len(both) == 12


def test_wrong_questions(library: Library) -> None:
    with pytest.raises(LibraryError, match="rank"):
        library.search("red", rank="words")  # type: ignore[arg-type]
    with pytest.raises(LibraryError, match="0 results"):
        library.search("red", k=0)
    with pytest.raises(LibraryError, match="image 999"):
        library.get(999)
    with pytest.raises(LibraryError, match="image 999"):
        library.similar(999)


def test_an_empty_library_answers(tmp_path: Path, bundle: Path) -> None:
    (tmp_path / "empty").mkdir()
    with Library.open(tmp_path / "library", model=bundle) as library:
        assert library.search("red").hits == ()
        assert library.tags() == library.duplicates() == []
        library.update([tmp_path / "empty"])
        assert library.search("red").hits == ()
        assert library.check() == []
    with pytest.raises(LibraryError, match="not the address"):
        Library.open("s3://somewhere/images")
    with pytest.raises(LibraryError, match="no library here"):
        Library.open(tmp_path / "none", create=False)


def test_a_library_without_a_retriever_is_searched_by_words(tmp_path: Path, photos: Path) -> None:
    from helpers import tiny_bundles

    heads = tiny_bundles.write_tiny(tmp_path / "heads", ("captioner", "tagger")).path
    with Library.open(tmp_path / "words", model=heads) as library:
        library.update([photos])
        found = library.search("red", k=5)
        assert folders(found)[:4] == ["red"] * 4
        assert found[0].matches
        assert found[0].similarity is None
        assert library.check() == []
