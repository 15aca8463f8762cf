from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from seetell.errors import MissingExtraError, SeetellError
from seetell.text import LABEL_SPECIALS, Vocabulary, WordVectors, default_vectors, matrix, vectors
from seetell.text.vectors import Vectors

WORDS = ["dog", "cat", "sports", "ball", "number", "t", "shirt", "Paris", "1950"]


def example(dimension: int = 6) -> WordVectors:
    values = np.random.default_rng(3).normal(0.5, 2.0, (len(WORDS), dimension)).astype(np.float32)
    return WordVectors(list(WORDS), values)


def mean(some: WordVectors, *words: str) -> Vectors:
    return np.asarray(sum(some[word] for word in words) / len(words))


def test_look_up() -> None:
    some = example()
    assert len(some) == len(WORDS)
    assert some.dimension == 6
    assert "dog" in some
    assert "Dog" not in some
    np.testing.assert_array_equal(some["cat"], some.matrix[1])
    with pytest.raises(KeyError):
        some["zebra"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("dog", ["dog"]),
        ("Dog", ["dog"]),
        ("Paris", ["Paris"]),
        ("paris", None),
        ("t-shirt", ["t", "shirt"]),
        ("T-Shirt", ["t", "shirt"]),
        ("cat/dog", ["cat", "dog"]),
        ("sports ball", ["sports", "ball"]),
        ("zebra-cat", ["cat"]),
        ("1950", ["1950"]),
        ("10:30", ["number"]),
        ("7", ["number"]),
        ("65th", None),
        ("zebra", None),
    ],
)
def test_fallbacks(word: str, found: list[str] | None) -> None:
    some = example()
    vector = some.find(word)
    if found is None:
        assert vector is None
    else:
        assert vector is not None
        np.testing.assert_allclose(vector, mean(some, *found), rtol=1e-6)
    exact = some.find(word, fallbacks=False)
    assert (exact is not None) == (word in WORDS)


def test_numbers_as_word2vec_writes_them() -> None:
    some = WordVectors(["####", "##th", "number"], np.eye(3, dtype=np.float32))
    np.testing.assert_array_equal(some.find("1987"), some["####"])
    np.testing.assert_array_equal(some.find("65th"), some["##th"])
    np.testing.assert_array_equal(some.find("5"), some["number"])


def test_phrases_are_means_and_name_what_is_missing() -> None:
    some = example()
    vector, missing = some.phrase("Sports ball")
    np.testing.assert_allclose(vector, mean(some, "sports", "ball"), rtol=1e-6)
    assert missing == []
    vector, missing = some.phrase("zebra ball")
    np.testing.assert_allclose(vector, some["ball"])
    assert missing == ["zebra"]
    with pytest.raises(SeetellError, match="no word of 'zebra crossing'"):
        some.phrase("zebra crossing")


def test_nearest_against_a_plain_loop() -> None:
    some = example()

    def cosine(one: Vectors, other: Vectors) -> float:
        return float(one @ other / np.sqrt((one @ one) * (other @ other)))

    expected = sorted(((cosine(some["dog"], some[word]), word) for word in WORDS if word != "dog"), reverse=True)
    nearest = some.nearest("dog", 3)
    assert [word for word, _ in nearest] == [word for _, word in expected[:3]]
    np.testing.assert_allclose([value for _, value in nearest], [value for value, _ in expected[:3]], rtol=1e-5)
    assert len(some.nearest("dog", 100)) == len(WORDS) - 1
    assert some.nearest("T-shirt", 2)  # by its fallback
    with pytest.raises(SeetellError, match="zebra"):
        some.nearest("zebra")


def test_matrix() -> None:
    some = example(50)
    vocabulary = Vocabulary(["dog", "zebra", "t-shirt", "gnu"])
    counts = Counter({"dog": 6, "zebra": 1, "t-shirt": 2, "gnu": 1, "not in the vocabulary": 99})
    rows, report = matrix(vocabulary, some, seed=1, counts=counts)
    assert rows.shape == (8, 50)
    assert rows.dtype == np.float32
    assert not rows[vocabulary.pad].any()
    np.testing.assert_array_equal(rows[vocabulary.index("dog")], some["dog"])
    np.testing.assert_allclose(rows[vocabulary.index("t-shirt")], mean(some, "t", "shirt"), rtol=1e-6)
    assert (report.found, report.missing, report.share_of_words) == (2, ["zebra", "gnu"], 0.5)
    assert report.share_of_tokens == pytest.approx(0.8)
    assert str(report) == "2 of 4 words have a vector (50.0%), 80.00% of the text"
    again, _ = matrix(vocabulary, some, seed=1)
    np.testing.assert_array_equal(rows, again)
    other, report = matrix(vocabulary, some, seed=2, fallbacks=False)
    assert report.missing == ["zebra", "t-shirt", "gnu"]
    assert report.share_of_tokens is None
    assert not np.allclose(rows[vocabulary.index("zebra")], other[vocabulary.index("zebra")])


def test_words_without_a_vector_are_drawn_with_the_spread_of_those_with_one() -> None:
    some = example(200)
    vocabulary = Vocabulary(["dog", "cat", *(f"unheard{number}" for number in range(500))])
    rows, _ = matrix(vocabulary, some, seed=0)
    drawn = rows[vocabulary.index("unheard0") :]
    spread = np.stack([some["dog"], some["cat"]]).std()
    assert drawn.std() == pytest.approx(spread, rel=0.02)
    assert drawn.mean() == pytest.approx(0, abs=0.03)
    assert rows[vocabulary.start].std() == pytest.approx(spread, rel=0.2)


def test_matrix_of_labels_and_of_nothing_known() -> None:
    some = example()
    labels = Vocabulary(["sports ball", "dog"], LABEL_SPECIALS)
    rows, report = matrix(labels, some, seed=0)
    np.testing.assert_allclose(rows[labels.index("sports ball")], some.phrase("sports ball").vector, rtol=1e-6)
    assert report.share_of_words == 1
    rows, report = matrix(Vocabulary(["zebra"]), some, seed=0)
    assert np.isfinite(rows).all()
    assert report.found == 0


def test_reading_some_words_brings_what_they_fall_back_on(tmp_path: Path) -> None:
    some = example()
    path = tmp_path / "vectors.txt"
    lines = [f"{word} {' '.join(f'{value:.6f}' for value in some[word])}" for word in some.words]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    everything = WordVectors.read(path)
    wanted = ["Dog", "T-shirt", "10:30", "zebra"]
    few = WordVectors.read(path, wanted)
    assert set(few.words) == {"dog", "t", "shirt", "number"}
    for word in wanted:
        one, other = everything.find(word), few.find(word)
        assert (one is None and other is None) or np.array_equal(one, other)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_DEFAULT_PACKAGE", "a-package-that-nobody-made")
    with pytest.raises(MissingExtraError, match=r"a-package-that-nobody-made.*seetell\[learn\]"):
        default_vectors()
