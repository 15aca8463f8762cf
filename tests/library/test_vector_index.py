"""The index of a large library finds what comparing every image finds."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.tiny_bundles import manifest
from seetell.library import Filters, Library
from seetell.library.search.vector_index import VectorIndex
from seetell.library.search.vectors import ApproximateSpace, ExactSpace, normalised, top
from seetell.library.storage import rows
from seetell.library.storage.database import Database
from seetell.runtime import Description
from seetell.similarity import SIMILARITIES, by_name

DIMENSIONS = 48


def vectors(count: int, seed: int = 0) -> np.ndarray:
    """Around centres, as embeddings of images lie."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(60, DIMENSIONS))
    return (centres[random.integers(0, 60, count)] + random.normal(size=(count, DIMENSIONS))).astype(np.float32)


def put(database: Database, embeddings: np.ndarray, first: int = 1) -> None:
    with database.write() as connection:
        for row, embedding in enumerate(embeddings):
            number = first + row
            image = rows.add_image(connection, number.to_bytes(16, "big"), rows.ImageFacts(1, 1, 1, 0.0, 0, ""))
            assert image == number
            rows.add_prediction(connection, number, 1, Description("", embedding=embedding))
            rows.add_file(connection, f"/{number}.jpg", 1, 1, number)


def made(tmp_path: Path, similarity: str = "cosine") -> Database:
    database = Database(tmp_path)
    with database.write() as connection:
        number = rows.add_model(connection, manifest(), "nowhere")
        query = "UPDATE models SET dimensions = ?, similarity = ? WHERE id = ?"
        connection.execute(query, (DIMENSIONS, similarity, number))
        rows.set_meta(connection, "model", number)
    return database


def recall(exact: np.ndarray, found: np.ndarray) -> float:
    return float(np.mean([len({*a} & {*b}) / len(a) for a, b in zip(exact.tolist(), found.tolist(), strict=True)]))


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_the_index_proposes_what_comparing_all_would_find(tmp_path: Path, similarity: str) -> None:
    embeddings = vectors(4000)
    database = made(tmp_path, similarity)
    put(database, embeddings)
    index = VectorIndex(database, exact_limit=1000)
    exact = index.current()
    assert isinstance(exact, ExactSpace)
    assert index.refresh()
    near = index.current()
    assert isinstance(near, ApproximateSpace)
    assert (near.count, exact.count) == (4000, 4000)
    questions = vectors(50, seed=1)
    true = [exact.nearest(question, 10) for question in questions]
    found = [near.nearest(question, 10) for question in questions]
    assert recall(np.stack([t[0] for t in true]), np.stack([f[0] for f in found])) >= 0.99
    for (ids, scores), (found_ids, found_scores) in zip(true, found, strict=True):
        if (ids == found_ids).all():
            np.testing.assert_allclose(scores, found_scores, rtol=1e-5, atol=1e-6)
    assert not index.refresh()  # there is nothing to do
    database.close()


def test_new_and_gone_images_count_before_the_index_knows_them(tmp_path: Path) -> None:
    database = made(tmp_path)
    put(database, vectors(2000))
    index = VectorIndex(database, exact_limit=1000)
    index.refresh()
    question = vectors(1, seed=5)[0]
    assert index.current() is not None
    put(database, question[np.newaxis], first=2001)
    space = index.current()
    assert space is not None
    assert space.nearest(question, 1)[0].tolist() == [2001]
    second = int(space.nearest(question, 2)[0][1])
    assert not index.refresh()  # one is not worth it
    with database.write() as connection:
        rows.remove_files(connection, [f"/{second}.jpg", "/2001.jpg"])
        rows.remove_orphans(connection)
    space = index.current()
    assert space is not None
    assert not {second, 2001} & {*space.nearest(question, 50)[0].tolist()}
    assert np.isnan(space.scores(question, [2001])).all()
    put(database, vectors(500, seed=6), first=2002)
    assert index.refresh()
    assert len(list(tmp_path.glob("vectors-*.usearch"))) == 1
    with database.write() as connection:
        rows.remove_files(connection, [f"/{number}.jpg" for number in range(1, 1500)])
        rows.remove_orphans(connection)
    assert index.refresh()
    space = index.current()
    assert isinstance(space, ApproximateSpace)
    assert len(space.index) == space.count
    database.close()


@pytest.mark.parametrize("damage", ["missing", "short", "rubbish"])
def test_a_damaged_index_is_ignored(tmp_path: Path, damage: str) -> None:
    database = made(tmp_path)
    put(database, vectors(1500))
    VectorIndex(database, exact_limit=1000).refresh()
    (file,) = tmp_path.glob("vectors-*.usearch")
    if damage == "missing":
        file.unlink()
    elif damage == "short":
        file.write_bytes(file.read_bytes()[:-100])
    else:
        file.write_bytes(b"rubbish")
    index = VectorIndex(database, exact_limit=1000)
    assert isinstance(index.current(), ExactSpace)
    assert index.refresh()
    assert isinstance(index.current(), ApproximateSpace)
    database.close()


def test_order_embeddings_are_always_compared(tmp_path: Path) -> None:
    database = made(tmp_path, "order")
    put(database, vectors(300))
    index = VectorIndex(database, exact_limit=100)
    assert not index.refresh()
    space = index.current()
    assert isinstance(space, ExactSpace)
    ids, scores = space.nearest(vectors(1, seed=2)[0], 5)
    plain = by_name("order").scores(vectors(300), vectors(1, seed=2))[:, 0]
    assert ids.tolist() == (np.argsort(-plain, kind="stable")[:5] + 1).tolist()
    np.testing.assert_allclose(scores, np.sort(plain)[::-1][:5], rtol=1e-5)
    database.close()


@pytest.mark.parametrize("name", sorted(SIMILARITIES))
def test_scores_equal_the_similarity_s_own(name: str) -> None:
    embeddings, question = vectors(50), vectors(1, seed=3)[0]
    space = ExactSpace(by_name(name), np.arange(50), embeddings)
    plain = by_name(name).scores(embeddings, question[np.newaxis])[:, 0]
    np.testing.assert_allclose(space.scores(question, range(50)), plain, rtol=1e-5, atol=1e-5)
    mean, deviation = space.spread(question)
    assert (mean, deviation) == (pytest.approx(plain.mean(), rel=1e-4), pytest.approx(plain.std(), rel=1e-4))
    assert np.isnan(space.scores(question, [50, 51])).all()


def test_top_breaks_ties_by_index() -> None:
    scores = np.array([1, 3, 2, 3, 3, 0], np.float32)
    assert top(scores, 2).tolist() == [1, 3]
    assert top(scores, 4).tolist() == [1, 3, 4, 2]
    assert top(scores, 9).tolist() == [1, 3, 4, 2, 0, 5]
    assert np.linalg.norm(normalised(np.array([[3, 4], [0, 0]], np.float32)), axis=1).tolist() == [1, 0]


def test_a_large_library_is_searched_by_index_and_words(tmp_path: Path, colours: Path, photos: Path) -> None:
    with Library.open(tmp_path / "library", model=colours, exact_limit=1) as library:
        library.update([photos])
        found = library.search("red", k=4)
        assert not found.exact
        assert {Path(each.image.path).parent.name for each in found} == {"red"}
        assert library.search("red", Filters(tags=["blue"]), k=12).exact
        small = [each.image.id for each in library.search("green", k=12)]
    with Library.open(tmp_path / "library") as library:
        assert json.loads(rows.get_meta(library._database.connection, "index"))["model"] == 1
        assert sorted(each.image.id for each in library.search("green", k=12)) == sorted(small)
