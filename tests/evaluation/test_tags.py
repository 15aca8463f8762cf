"""The analysis of tags, counted by hand."""

import numpy as np
import pytest

from seetell.evaluation.tags import LabelPair, analyse, label_pairs

LABELS = ("person", "ball", "dog", "toaster")
TRUTH = np.array(
    [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 1, 0],
    ],
    dtype=bool,
)
PREDICTED = np.array(
    [
        [1, 1, 0, 0],  # perfect, two labels
        [1, 1, 1, 0],  # perfect, three
        [0, 0, 1, 1],  # all wrong
        [0, 0, 0, 0],  # nothing predicted: missed, but not wrong
        [1, 0, 1, 0],
    ],
    dtype=bool,
)


def test_examples() -> None:
    found = analyse(TRUTH, PREDICTED, LABELS)
    assert found.images == 5
    assert found.perfect == [1, 0]
    assert found.wrong == [2]


def test_an_image_without_labels_and_without_tags_is_no_example() -> None:
    found = analyse(np.zeros((2, 2), dtype=bool), np.array([[False, False], [True, False]]), ("a", "b"))
    assert found.perfect == []
    assert found.wrong == [1]


def test_by_number_and_by_label() -> None:
    found = analyse(TRUTH, PREDICTED, LABELS)
    assert {n: scores.samples for n, scores in found.by_count.items()} == {1: 3, 2: 1, 3: 1}
    assert found.by_count[1].precision == pytest.approx(100 / 6)
    assert found.by_count[1].recall == pytest.approx(100 / 3)
    assert [report.label for report in found.by_label] == ["ball", "dog", "person", "toaster"]
    ball, dog, person, toaster = found.by_label
    assert (ball.images, ball.predicted, ball.f1) == (2, 2, 100)
    assert person.precision == person.recall == person.f1 == pytest.approx(200 / 3)
    assert (dog.f1, dog.precision) == (pytest.approx(200 / 3), pytest.approx(200 / 3))
    assert (toaster.images, toaster.predicted, toaster.precision, toaster.recall, toaster.f1) == (0, 1, 0, None, None)


def test_company_against_a_slow_count() -> None:
    random = np.random.default_rng(0)
    truth, predicted = random.random((2, 300, 6)) < 0.3
    predicted[:, 5] = False  # never predicted
    names = tuple("abcdef")
    pairs = {(pair.first, pair.second): pair for pair in label_pairs(truth, predicted, names, least=5)}
    assert len(pairs) == 5 * 5
    for (first, second), pair in pairs.items():
        i, j = names.index(first), names.index(second)
        for table, share in ((truth, pair.in_data), (predicted, pair.in_predictions)):
            both = sum(bool(row[i] and row[j]) for row in table)
            assert share == pytest.approx(100 * both / sum(bool(row[i]) for row in table))
    shares = np.array([[pair.in_data, pair.in_predictions] for pair in pairs.values()])
    found = analyse(truth, predicted, names, least=5)
    assert found.correlation == pytest.approx(np.corrcoef(shares[:, 0], shares[:, 1])[0, 1])
    assert [pair.in_data for pair in found.pairs] == sorted((pair.in_data for pair in found.pairs), reverse=True)


def test_labels_that_are_rare_keep_no_company() -> None:
    pairs = label_pairs(TRUTH, PREDICTED, LABELS, least=3)
    assert {pair.first for pair in pairs} == {"person", "dog"}
    assert LabelPair("dog", "person", pytest.approx(100 / 3), pytest.approx(200 / 3)) in pairs
    assert analyse(TRUTH, PREDICTED, LABELS).correlation is None
    assert analyse(TRUTH, TRUTH, LABELS, least=1).correlation == pytest.approx(1)
