"""Labels as tables, sequences and vectors."""

from pathlib import Path

import numpy as np
import pytest
import torch

from seetell.data import Dataset, ImageFile, Record
from seetell.learn.recipes import RecipeError, TextSettings, load_recipe
from seetell.learn.tasks.tagging.data import LabelledImages, Orders, label_sizes, label_vectors, label_vocabulary

TRAIN = [("a", "dog"), ("a",), ("sports ball", "a", "dog"), ()]


class NoImages:
    def __len__(self) -> int:
        return 0

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> torch.Tensor:
        raise AssertionError


def records(split: str, labels: list[tuple[str, ...]]) -> list[Record]:
    return [Record(f"{split}{i}", ImageFile(Path("x")), labels=each, split=split) for i, each in enumerate(labels)]


@pytest.fixture
def dataset() -> Dataset:
    return Dataset("d", (*records("train", TRAIN), *records("val", [("zebra", "dog")] * 9)))


def test_the_vocabulary_is_the_training_splits_most_frequent_first(dataset: Dataset) -> None:
    vocabulary = label_vocabulary(dataset)
    assert vocabulary.words == ("a", "dog", "sports ball")
    assert [vocabulary.word(i) for i in range(3)] == ["<pad>", "<start>", "<end>"]
    assert label_sizes(vocabulary, None) == {"words": 6, "labels": 3}
    assert label_sizes(vocabulary, torch.zeros(6, 50))["vector_dimensions"] == 50


def test_labels_that_training_never_saw_are_columns_at_the_end(dataset: Dataset) -> None:
    data = LabelledImages.of(dataset.split("val"), NoImages(), label_vocabulary(dataset))
    assert data.labels == ("a", "dog", "sports ball", "zebra")
    assert data.truth.tolist() == [[False, True, False, True]] * 9


@pytest.mark.parametrize(
    ("order", "third"), [("frequency", [3, 4, 5]), ("rare_first", [5, 4, 3]), ("alphabetical", [3, 4, 5])]
)
def test_orders(dataset: Dataset, order: str, third: list[int]) -> None:
    vocabulary = label_vocabulary(dataset)
    train = LabelledImages.of(dataset.split("train"), NoImages(), vocabulary)
    tokens, mask = Orders(train.truth, vocabulary, order).pad(np.array([2, 1, 3]), np.random.default_rng(0))
    assert tokens.tolist() == [[1, *third, 2], [1, 3, 2, 0, 0], [1, 2, 0, 0, 0]]
    assert mask.tolist() == [[True] * 4, [True, True, False, False], [True, False, False, False]]


def test_alphabetical_is_not_by_frequency() -> None:
    dataset = Dataset("d", tuple(records("train", [("zebra",), ("zebra", "ant")])))
    vocabulary = label_vocabulary(dataset)
    train = LabelledImages.of(dataset.split("train"), NoImages(), vocabulary)
    tokens, _ = Orders(train.truth, vocabulary, "alphabetical").pad(np.array([1]), np.random.default_rng(0))
    assert vocabulary.decode(tokens[0].tolist()) == ["ant", "zebra"]


def test_random_orders_are_drawn_anew_and_from_the_generator_alone(dataset: Dataset) -> None:
    vocabulary = label_vocabulary(dataset)
    orders = Orders(LabelledImages.of(dataset.split("train"), NoImages(), vocabulary).truth, vocabulary, "random")
    random, same = np.random.default_rng(5), np.random.default_rng(5)
    drawn = [tuple(orders.pad(np.array([2]), random)[0][0].tolist()) for _ in range(60)]
    assert len(set(drawn)) == 6
    assert drawn == [tuple(orders.pad(np.array([2]), same)[0][0].tolist()) for _ in range(60)]
    with pytest.raises(RecipeError, match="rare_first"):
        load_recipe("joint", settings=["phases.loss.order=rarefirst"])


def test_vectors_of_labels_of_several_words_are_means(dataset: Dataset, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("dog 1 2\nsports 0 4\nball 2 2\n", encoding="utf-8")
    vocabulary = label_vocabulary(dataset)
    rows = label_vectors(vocabulary, TextSettings(vectors=str(file)))
    assert rows is not None
    assert rows[vocabulary.index("sports ball")].tolist() == [1, 3]
    assert rows[vocabulary.index("dog")].tolist() == [1, 2]
    assert rows[[0, 1, 2, vocabulary.index("a")]].isnan().all()
    assert label_vectors(vocabulary, TextSettings()) is None
