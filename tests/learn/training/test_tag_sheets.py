"""The page about a tagger, written for a few drawn images."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seetell.data import ImageFile, Record
from seetell.decoding import Decoded
from seetell.learn.tasks.tagging.data import LabelledImages
from seetell.learn.tasks.tagging.decode import TagPredictions
from seetell.learn.tasks.tagging.sheets import write_tag_sheets
from seetell.text import LABEL_SPECIALS, Vocabulary

VOCABULARY = Vocabulary(["dog", "cat", "car"], LABEL_SPECIALS)


class Nothing:
    def __len__(self) -> int:
        return 0

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> torch.Tensor:
        raise AssertionError


@pytest.mark.parametrize("sequence", [False, True])
def test_page(sequence: bool, tmp_path: Path) -> None:
    records = []
    for number, labels in enumerate([("dog",), ("cat", "dog"), ("car",), ("bus",)]):
        Image.new("RGB", (40, 30), (60 * number, 0, 0)).save(tmp_path / f"{number}.png")
        records.append(Record(str(number), ImageFile(tmp_path / f"{number}.png"), labels=labels, split="test"))
    data = LabelledImages.of(records, Nothing(), VOCABULARY)
    chosen = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=bool)
    sequences = [
        Decoded(np.flatnonzero(row) + 3, -1.0, np.zeros(row.sum() + 1), -1.0, True) for row in chosen if sequence
    ]
    tagged = TagPredictions(chosen, chosen * 0.8, sequences if sequence else None)
    history = [{"loss": 1.0, "metrics": {"f1_of_means": 50.0, "train": {"f1_of_means": 60.0}}}] * 2
    out = tmp_path / "out"
    found = write_tag_sheets("try", records, data, tagged, VOCABULARY, history, out)
    assert found.perfect == [1, 0]
    assert found.wrong == [2, 3]
    text = (out / "tags.md").read_text(encoding="utf-8")
    assert "4 images: precision 50.0, recall 50.0" in text
    for name in ("learning", "by-count", "by-label", "company", "perfect", "wrong"):
        assert f"({name}.png)" in text
        with Image.open(out / f"{name}.png") as image:
            assert min(image.size) > 50
    assert not list(out.glob("*.part"))
