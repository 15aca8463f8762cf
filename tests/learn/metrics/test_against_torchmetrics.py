"""Recalls and mean average precision against torchmetrics'."""

import numpy as np
import pytest
import torch
from torchmetrics.functional.classification import multilabel_average_precision
from torchmetrics.functional.retrieval import retrieval_hit_rate

from seetell.metrics.labels import mean_average_precision
from seetell.metrics.retrieval import retrieval_scores
from seetell.similarity import by_name


@pytest.mark.parametrize("name", ["cosine", "order", "euclidean"])
def test_recalls(name: str) -> None:
    rng = np.random.default_rng(2)
    images = rng.normal(size=(80, 16))
    owner = rng.permutation(np.concatenate([np.arange(80), rng.integers(0, 80, size=170)]))
    texts = images[owner] + 1.5 * rng.normal(size=(250, 16))
    scores = torch.from_numpy(by_name(name).scores(images, texts))
    right = torch.from_numpy(owner[None, :] == np.arange(80)[:, None])
    found = retrieval_scores(images, texts, owner, similarity=by_name(name))
    for k in (1, 5, 10):
        for side, given, wanted in ((found.image_to_text, scores, right), (found.text_to_image, scores.T, right.T)):
            hits = [retrieval_hit_rate(row, mask, top_k=k).item() for row, mask in zip(given, wanted, strict=True)]
            assert getattr(side, f"r{k}") == pytest.approx(100 * np.mean(hits), abs=1e-4)
    assert 10 < found.text_to_image.r1 < 90


def test_mean_average_precision() -> None:
    rng = np.random.default_rng(3)
    truth, scores = rng.random((200, 12)) < 0.2, rng.random((200, 12))
    theirs = multilabel_average_precision(torch.from_numpy(scores), torch.from_numpy(truth.astype(int)), num_labels=12)
    assert mean_average_precision(truth, scores) == pytest.approx(100 * theirs.item(), abs=1e-3)
