"""From logits and sequences to labels."""

from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seetell.learn.models.classifier import Classifier
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.label_sequence import LabelSequence
from seetell.learn.recipes import TaggingDecoding
from seetell.learn.recipes.model_settings import ClassifierSettings, LabelSequenceSettings
from seetell.learn.tasks.tagging.decode import TagPredictions, tag
from seetell.metrics.labels import label_scores
from seetell.text import LABEL_SPECIALS, Vocabulary

VOCABULARY = Vocabulary(["person", "dog", "cat", "car"], LABEL_SPECIALS)


class Rows:
    def __init__(self, rows: Tensor) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        return self.rows[torch.from_numpy(indices)]


def sequence_model(seed: int = 0) -> tuple[LabelSequence, Rows]:
    torch.manual_seed(seed)
    model = LabelSequence(
        LabelSequenceSettings(units=12, label_dimensions=6), ModelInputs(sections=(4, 4), words=len(VOCABULARY))
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model, Rows(torch.randn(150, 8))


def test_no_label_twice_and_beams_never_below_greedy() -> None:
    model, images = sequence_model()
    one = tag(model, images, VOCABULARY, TaggingDecoding())
    assert one.sequences is not None
    beams = tag(model, images, VOCABULARY, TaggingDecoding(beam=4), testing=True)
    assert beams.sequences is not None
    for alone, best, chosen in zip(one.sequences, beams.sequences, beams.chosen, strict=True):
        assert best.log_probability >= alone.log_probability - 1e-6
        assert len(set(best.tokens.tolist())) == len(best.tokens)
        assert sorted(best.tokens - 3) == np.flatnonzero(chosen).tolist()
    assert sum(best.log_probability for best in beams.sequences) > sum(x.log_probability for x in one.sequences) + 1e-3
    assert ((beams.confidence >= 0) & (beams.confidence <= 1 + 1e-9)).all()
    assert (one.confidence > 0).sum() == one.chosen.sum()


def test_confidences_of_label_sequences_near_the_exact_probability() -> None:
    """With a beam wide enough for all sequences the confidence of a label is its probability."""
    model, images = sequence_model(3)
    images = Rows(images.rows[:2])
    tagged = tag(model, images, VOCABULARY, TaggingDecoding(beam=70), testing=True)  # 65 orders of 4 labels or fewer
    for row in range(2):
        total, with_label = 0.0, np.zeros(4)
        state = model.start(images.rows[row : row + 1])
        todo = [((), 1.0, state)]
        while todo:
            written, chance, state = todo.pop()
            last = torch.tensor([written[-1] if written else VOCABULARY.start])
            log_probs, after, _ = model.step(last, state)
            probabilities = log_probs[0].exp().tolist()
            total += chance * probabilities[VOCABULARY.end]
            for label in written:
                with_label[label - 3] += chance * probabilities[VOCABULARY.end]
            todo += [((*written, n), chance * probabilities[n], after) for n in range(3, 7) if n not in written]
        np.testing.assert_allclose(tagged.confidence[row], with_label / total, atol=1e-5)


def test_a_most_and_places() -> None:
    model, images = sequence_model()
    settings = TaggingDecoding(maximum=1)
    few = tag(model, images, VOCABULARY, settings, indices=np.array([5, 2]))
    assert few.chosen.shape == (2, 4)
    assert few.chosen.sum(1).max() <= 1
    everything = tag(model, images, VOCABULARY, settings)
    assert np.array_equal(few.chosen, everything.chosen[[5, 2]])


def classifier(activation: Literal["sigmoid", "softmax"] = "sigmoid") -> Classifier:
    model = Classifier(ClassifierSettings(activation=activation), ModelInputs(features=4, labels=4)).eval()
    nn.init.eye_(model.output.weight)
    return model


def test_classifiers_choose_the_top_or_what_is_over_its_threshold() -> None:
    images = Rows(torch.tensor([[3.0, 2.0, 1.0, 0.0], [-1.0, -2.0, -3.0, -0.5]]))
    model = classifier()
    top = tag(model, images, VOCABULARY, TaggingDecoding(top=2))
    assert top.chosen.tolist() == [[True, True, False, False], [True, False, False, True]]
    np.testing.assert_allclose(top.confidence, 1 / (1 + np.exp(-images.rows.numpy())), rtol=1e-6)
    model.thresholds.copy_(torch.tensor([0.0, 2.5, -3.5, 0.0]))
    over = tag(model, images, VOCABULARY, TaggingDecoding(choose="thresholds"))
    assert over.chosen.tolist() == [[True, False, True, False], [False, False, True, False]]
    assert np.array_equal(over.confidence > 0.5, over.chosen)
    soft = tag(classifier("softmax"), images, VOCABULARY, TaggingDecoding())
    np.testing.assert_allclose(soft.confidence.sum(1), 1, rtol=1e-6)


def test_labels_nobody_could_know_count_against_recall() -> None:
    tagged = TagPredictions(np.array([[True, False]]), np.array([[0.9, 0.1]]))
    found = tagged.scores(np.array([[True, False, True]]))
    assert found["precision"] == 100
    assert found["recall"] == 50
    plain = label_scores(np.array([[True, False]]), np.array([[True, False]]), np.array([[0.9, 0.1]]))
    assert tagged.scores(np.array([[True, False]])) == pytest.approx(plain)
