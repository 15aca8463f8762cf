"""The graph of the words that fit, against a loop over words."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from msgspec.structs import replace

from helpers.tiny_bundles import DIMENSIONS, LABELS, WEIGHTS, WORDS, files, manifest, texts, write_tiny
from seetell.bundle import write_bundle
from seetell.errors import SeetellError
from seetell.learn.exporting.words import CHOSEN, similar_words
from seetell.runtime import Model


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_it_gives_the_words_that_fit_most_beyond_what_is_usual(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    usual = [rng.integers(0, 255, (8, 8, 3), dtype=np.uint8) for _ in range(20)]
    with Model(write_tiny(tmp_path / "tiny")) as model:
        session = onnxruntime.InferenceSession(similar_words(model, [*usual, tmp_path / "absent.png"]))
        embeddings = rng.normal(size=(7, DIMENSIONS)).astype(np.float32)
        [found] = session.run(["tokens"], {"embeddings": embeddings})
        known = [*LABELS, "thing"]  # of its words those with content
        vectors = dict(zip(known, model.retriever.embed_texts(known), strict=True))
        before = [model.retriever.images(image).vector for image in usual]
        numbers = {word: 4 + WORDS.index(word) for word in known}
    for embedding, tokens in zip(embeddings, found.tolist(), strict=True):
        more = {w: cosine(embedding, v) - np.mean([cosine(b, v) for b in before]) for w, v in vectors.items()}
        assert tokens == [numbers[word] for word in sorted(known, key=lambda word: -more[word])][:CHOSEN]


def test_it_needs_cosines_and_images(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.retriever is not None
    order = replace(tiny, retriever=replace(tiny.retriever, similarity="order"))
    made = {**files(), "texts.onnx": texts(np.abs(WEIGHTS["T"]))}
    wrong = write_bundle(tmp_path / "order", order, made)
    with Model(wrong) as model, pytest.raises(SeetellError, match="with cosine similarity, not order"):
        similar_words(model, [])
    with Model(write_tiny(tmp_path / "tiny")) as model, pytest.raises(SeetellError, match="no image"):
        similar_words(model, [tmp_path / "absent.png"])
