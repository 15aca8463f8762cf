"""Queries and what they find, against the ranks that are reported."""

from dataclasses import dataclass

import numpy as np
import pytest

from seetell.data import Record
from seetell.evaluation.retrieval_sheet import EmbeddedSplit, caption_query, chosen, image_query, retrieval_sheets
from seetell.metrics import retrieval_ranks
from seetell.similarity import SIMILARITIES
from seetell.text import WordVectors

VECTORS = WordVectors(["dog", "puppy", "cat"], np.array([[1, 0], [0.9, 0.3], [0, 1]], dtype=np.float32))


@dataclass(frozen=True)
class Nowhere:
    name: str

    def read(self) -> bytes:
        raise AssertionError("finding the queries needs no image")


def embedded(similarity: str = "cosine", *, ties: bool = False) -> EmbeddedSplit:
    """Twelve images with none to three captions each, at random places, or all at a few."""
    random = np.random.default_rng(5)
    owners = np.repeat(np.arange(12), [3, 0, 1, 2, 3, 1, 2, 2, 1, 3, 0, 2])
    captions = [f"caption {row} of a dog" for row in range(len(owners))]
    records = [
        Record(
            f"{row}.jpg", Nowhere(str(row)), tuple(c for c, owner in zip(captions, owners, strict=True) if owner == row)
        )
        for row in range(12)
    ]
    images, texts = random.normal(size=(12, 4)), random.normal(size=(len(owners), 4))
    if ties:
        images, texts = np.sign(images), np.sign(texts)
    return EmbeddedSplit(records, captions, images, texts, owners, SIMILARITIES[similarity])


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("similarity", ["cosine", "order", "euclidean"])
def test_the_first_right_answer_is_where_the_rank_says(similarity: str, ties: bool) -> None:
    split = embedded(similarity, ties=ties)
    by_image, by_caption = retrieval_ranks(split.images, split.texts, split.owners, similarity=split.similarity)
    for row in np.flatnonzero(by_image).tolist():
        query = image_query(split, row, int(by_image[row]), VECTORS, k=len(split.texts))
        assert [found.right for found in query.found].index(True) + 1 == by_image[row]
        assert sum(found.right for found in query.found) == len(query.captions) == len(query.record.captions)
        scores = [found.score for found in query.found]
        assert scores == sorted(scores, reverse=True)
        for found in query.found:
            assert found.right == (found.caption.text in query.record.captions)
    for row in range(len(split.texts)):
        query_ = caption_query(split, row, int(by_caption[row]), VECTORS, k=len(split.images))
        assert [found.right for found in query_.found].index(True) + 1 == by_caption[row]
        assert [found.record for found in query_.found if found.right] == [query_.record]
        assert query_.caption.text in query_.record.captions


def test_best_worst_and_random_queries() -> None:
    ranks = np.array([3, 0, 1, 9, 1, 4, 0, 7])
    picked = chosen(ranks, 3, seed=1)
    assert sorted(picked["best"][:2]) == [2, 4]
    assert picked["best"][2] == 0
    assert picked["worst"] == [3, 7, 5]
    assert len(set(picked["random"])) == 3
    assert not {1, 6} & set(picked["random"])
    assert chosen(ranks, 3, seed=1) == picked
    assert sorted(chosen(ranks, 100, seed=2)["random"]) == [0, 2, 3, 4, 5, 7]


def test_words_are_marked_like_their_partners_in_the_ground_truth() -> None:
    owners = np.array([0, 0, 1])
    captions = ["A dog runs", "the dog", "A puppy and a cat"]
    records = [Record("a", Nowhere("a"), ("A dog runs", "the dog")), Record("b", Nowhere("b"), ("A puppy and a cat",))]
    images, texts = np.array([[1.0, 0.2], [0, 1.0]]), np.array([[0.5, 1], [1, 0.2], [1, 0.3]])
    split = EmbeddedSplit(records, captions, images, texts, owners)
    query = image_query(split, 0, 1, VECTORS, k=2)
    assert [found.caption.text for found in query.found] == ["the dog", "A puppy and a cat"]
    assert [(pair.own, pair.found) for pair in query.pairs] == [("dog", "dog"), ("dog", "puppy")]
    marks = [[(text.text[m.start : m.end], m.meaning) for m in text.marks] for text in query.captions]
    assert marks == [[("dog", 0)], [("dog", 0)]]
    assert [[(f.caption.text[m.start : m.end], m.meaning) for m in f.caption.marks] for f in query.found] == [
        [("dog", 0)],
        [("puppy", 0)],
    ]
    reverse = caption_query(split, 2, 2, VECTORS, k=2)  # finds image a, whose caption with the most in common is shown
    assert reverse.found[0].record.key == "a"
    assert [(pair.own, pair.found) for pair in reverse.pairs][:1] == [("puppy", "dog")]
    assert [mark.meaning for mark in reverse.caption.marks][:1] == [0]


def test_three_sheets_of_both_directions() -> None:
    sheets = retrieval_sheets(embedded(), VECTORS, count=2, k=3)
    assert list(sheets) == ["best", "worst", "random"]
    for sheet in sheets.values():
        assert len(sheet.images) == len(sheet.captions) == 2
        assert all(len(query.found) == 3 for query in sheet.queries)
    assert max(q.rank for q in sheets["best"].images) <= min(q.rank for q in sheets["worst"].images)


def test_an_image_without_captions_can_be_found() -> None:
    split = embedded()
    found = caption_query(split, 0, 1, VECTORS, k=12).found
    assert {each.record.key for each in found if not each.caption.text} == {"1.jpg", "10.jpg"}


def test_tables_that_do_not_fit_together_are_refused() -> None:
    split = embedded()
    with pytest.raises(ValueError, match="12 records, 11 images"):
        EmbeddedSplit(split.records, split.captions, split.images[1:], split.texts, split.owners)
