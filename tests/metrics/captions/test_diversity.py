"""What captions are like, and when they are degenerate."""

import pytest

from seetell.errors import SeetellError
from seetell.metrics.captions.diversity import degenerate, diversity


def words(caption: str) -> list[str]:
    return caption.split()


def test_a_worked_example() -> None:
    captions = [sentence.split() for sentence in ("a dog runs", "a dog runs", "a cat", "the cat sat down")]
    found = diversity(captions, training=[("a", "dog", "runs"), ("a", "cow")])
    assert found == pytest.approx(
        {
            "vocabulary_used": 7,
            "mean_length": 3,
            "repeated": 50,
            "distinct1": 100 * 7 / 12,
            "distinct2": 100 * 6 / 8,
            "novel": 50,
        }
    )


def test_one_word_captions_have_no_pairs() -> None:
    assert diversity([["dog"], []])["distinct2"] == 0


def test_novelty_needs_the_training_captions() -> None:
    assert "novel" not in diversity([["a"]])


def test_nothing_cannot_be_described() -> None:
    with pytest.raises(SeetellError, match="no captions"):
        diversity([])


def test_the_same_caption_for_most_images_is_degenerate() -> None:
    same = [words("a man in a red shirt")] * 12
    word = degenerate(same + [["dog"]] * 5)
    assert word is not None
    assert "12 of 17 images have the same caption, “a man in a red shirt”" in word
    assert "prepared differently than in training" in word
    assert "collapsed" in word


def test_empty_captions_are_degenerate() -> None:
    word = degenerate([[]] * 20)
    assert word is not None
    assert word.startswith("The caption of 20 of 20 images is empty")


def test_varied_captions_and_too_few_are_not() -> None:
    assert degenerate([["a", str(i)] for i in range(50)] + [["a", "dog"]] * 20) is None
    assert degenerate([["a", "dog"]] * 5) is None
