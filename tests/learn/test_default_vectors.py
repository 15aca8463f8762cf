"""The word vectors that pip brings with the extra `learn`."""

import importlib.metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from seetell.errors import MissingExtraError, SeetellError
from seetell.text import default_vectors
from seetell.text.vectors import Vectors

WORDS = ["dog", "sports", "ball", "t", "shirt"]
VALUES = np.random.default_rng(3).normal(0.5, 2.0, (5, 6)).astype(np.float32)


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], values: Vectors) -> None:
    """A package of vectors as if pip had installed it."""
    np.save(folder / "v.npy", np.asfortranarray(values))
    pyarrow.parquet.write_table(pyarrow.table({"index": names}), folder / "w.parquet")
    files = [SimpleNamespace(suffix=path.suffix, locate=lambda path=path: path) for path in sorted(folder.iterdir())]
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: SimpleNamespace(files=files))


def test_default_vectors_from_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, WORDS, VALUES)
    found = default_vectors()
    assert found.words == WORDS
    assert (found.matrix == VALUES).all()
    few = default_vectors(["Dog", "sports ball"])
    assert few.words == ["dog", "sports", "ball"]
    assert (few["ball"] == VALUES[2]).all()


def test_a_package_that_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, ["one"], VALUES)
    with pytest.raises(SeetellError, match="1 words, but 5 vectors"):
        default_vectors()
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: SimpleNamespace(files=[]))
    with pytest.raises(MissingExtraError):
        default_vectors()


def test_the_real_default_vectors() -> None:
    real = default_vectors()
    assert (len(real), real.dimension) == (400_000, 50)
    assert real.words[:3] == ["the", ",", "."]
    assert real.nearest("dog", 1)[0][0] == "cat"  # so words and vectors are in the same order
    assert real["the"][:3] == pytest.approx([0.418, 0.24968, -0.41242])  # the first numbers of glove.6B.50d.txt
    few = default_vectors(["dog", "t-shirt"])
    np.testing.assert_array_equal(few["dog"], real["dog"])
    assert set(few.words) == {"dog", "t-shirt", "t", "shirt"}
