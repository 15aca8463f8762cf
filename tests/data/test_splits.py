from collections import Counter
from hashlib import sha256

import pytest

from seetell.data.splits import by_hash, normalise, stricter


@pytest.mark.parametrize(
    ("written", "split"),
    [
        *(("train", "train"), ("Training", "train"), ("restval", "train"), (" TRAIN ", "train")),
        *(("val", "val"), ("dev", "val"), ("valid", "val"), ("Validation", "val")),
        *(("test", "test"), ("testing", "test"), ("extra", "extra"), ("Fold 3", "fold 3")),
        *(("", ""), ("none", ""), ("-", "")),
    ],
)
def test_normalise(written: str, split: str) -> None:
    assert normalise(written) == split


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("train", "test", "test"),
        ("test", "train", "test"),
        ("val", "test", "test"),
        ("val", "extra", "val"),
        ("train", "extra", "train"),
        ("extra", "train", "extra"),
        ("", "train", "train"),
        ("", "val", "val"),
        ("", "", ""),
    ],
)
def test_the_held_out_side_wins(first: str, second: str, kept: str) -> None:
    assert stricter(first, second) == kept


def test_by_hash_against_exact_arithmetic() -> None:
    for number in range(300):
        name = f"image {number}.jpg"
        place = int(sha256(name.encode()).hexdigest()[:16], 16)  # of 2**64
        expected = "train" if 8 * place < 6 * 2**64 else "val" if 8 * place < 7 * 2**64 else "test"
        assert by_hash(name, {"train": 6000, "val": 1000, "test": 1000}) == expected


def test_by_hash_meets_the_shares() -> None:
    counts = Counter(by_hash(f"{number:012d}.jpg", {"train": 80, "val": 10, "test": 10}) for number in range(20_000))
    # Three standard deviations of a binomial with p = 0.1 are 127.
    assert abs(counts["val"] - 2000) < 127
    assert abs(counts["test"] - 2000) < 127
    assert sum(counts.values()) == 20_000
