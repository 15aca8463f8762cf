"""The tagging task: label sequences under teacher forcing, or classifiers by a loss over all labels.

After every epoch the validation images are tagged, and a fixed sample of the training images for comparison (Ren,
Figure 6). The best F1 of mean precision and recall (`f1_of_means`) selects the model.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seetell.learn.losses import CrossEntropy, make_loss
from seetell.learn.models.classifier import Scorer
from seetell.learn.recipes import Phase, Recipe
from seetell.learn.recipes.loss_settings import LabelSequenceLossSettings
from seetell.learn.tasks.tagging import thresholds
from seetell.learn.tasks.tagging.data import LabelledImages, Orders, label_sizes, label_vectors, label_vocabulary
from seetell.learn.tasks.tagging.decode import all_logits, choose_labels, decoding_of, tag
from seetell.learn.training.batching import chunks
from seetell.learn.training.data import TrainingData, labelled
from seetell.learn.training.run import build_model
from seetell.learn.training.task import Setup, Task, Validation
from seetell.text import Vocabulary
from seetell.util import evenly_spaced


class TagTask(Task):
    """A tagger, its loss, and its batches."""

    def __init__(
        self,
        model: nn.Module,
        recipe: Recipe,
        train: LabelledImages,
        validation: LabelledImages,
        vocabulary: Vocabulary,
    ) -> None:
        super().__init__()
        self.model = model
        self.recipe, self.train_data, self.validation_data, self.vocabulary = recipe, train, validation, vocabulary
        self.settings = decoding_of(recipe)
        self.sample = np.array(evenly_spaced(len(train), self.settings.train_images), dtype=np.int64)
        self.loss: nn.Module = nn.Identity()
        self.orders: Orders | None = None

    def begin(self, phase: Phase) -> None:
        if isinstance(phase.loss, LabelSequenceLossSettings):
            self.orders = Orders(self.train_data.truth, self.vocabulary, phase.loss.order)
            self.loss = CrossEntropy(smoothing=phase.loss.smoothing)
        else:
            self.loss = make_loss(phase.loss)

    def plan(self, phase: Phase, random: np.random.Generator) -> Sequence[np.ndarray]:
        return chunks(random.permutation(len(self.train_data)), phase.batch)

    def collate(self, item: np.ndarray, random: np.random.Generator) -> tuple[Tensor, ...]:
        features = self.train_data.images.batch(item, random)
        if self.orders is None:
            return features, torch.from_numpy(self.train_data.truth[item])
        return features, *self.orders.pad(item, random)

    def forward(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
        if self.orders is None:
            features, targets = batch
            return self.loss(self.model(features), targets), {}
        features, tokens, mask = batch
        return self.loss(self.model(features, tokens[:, :-1]).logits, tokens[:, 1:], mask), {}

    def validate(self) -> Validation:
        data, settings = self.validation_data, self.settings
        if isinstance(self.model, Scorer) and settings.choose == "thresholds":
            logits = all_logits(self.model, data.images)
            fit = thresholds.by_label if settings.fit == "label" else thresholds.by_image
            fitted = fit(data.truth[:, : logits.shape[1]], logits)
            self.model.thresholds.copy_(torch.from_numpy(fitted))
            tagged = choose_labels(self.model, logits, settings)
        else:
            tagged = tag(self.model, data.images, self.vocabulary, settings)
        metrics: dict[str, Any] = tagged.scores(data.truth)
        if len(self.sample):
            sampled = tag(self.model, self.train_data.images, self.vocabulary, settings, indices=self.sample)
            scores = sampled.scores(self.train_data.truth[self.sample])
            metrics["train"] = {name: scores[name] for name in ("precision", "recall", "f1_of_means")}
        return Validation(metrics["f1_of_means"], metrics)


def setup(data: TrainingData) -> Setup:
    """Vocabulary, label embeddings to start from, transform and model, all from the training split."""
    recipe = data.recipe
    train_records, train_images = data.split("train", labelled)
    validation_records, validation_images = data.split("val", labelled)
    vocabulary = label_vocabulary(data.dataset)
    vectors = label_vectors(vocabulary, recipe.text)
    sizes = label_sizes(vocabulary, vectors)
    transform = data.transform(train_images)
    model = build_model(recipe, data.features.layout, sizes, transform=transform, vectors=vectors)
    train = LabelledImages.of(train_records, train_images, vocabulary)
    validation = LabelledImages.of(validation_records, validation_images, vocabulary)
    return Setup(TagTask(model, recipe, train, validation, vocabulary), vocabulary, sizes)
