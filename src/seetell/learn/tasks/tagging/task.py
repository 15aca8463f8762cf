"""The tagging task: label sequences under teacher forcing, or classifiers by a loss over all labels.

After every epoch the validation images are tagged, and so is a fixed sample of the training images, to see how far
the two are apart (Ren, Figure 6). The best F1 of mean precision and recall (`f1_of_means`) chooses the model.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec.structs import replace
from torch import Tensor, nn

from seetell.learn.losses import CrossEntropy, make_loss
from seetell.learn.models.classifier import Scorer
from seetell.learn.recipes import Phase, Recipe
from seetell.learn.recipes.loss_settings import LabelSequenceLossSettings
from seetell.learn.tasks.base import Task, Validation
from seetell.learn.tasks.tagging import thresholds
from seetell.learn.tasks.tagging.data import LabelledImages, Orders, label_vectors, label_vocabulary, sizes
from seetell.learn.tasks.tagging.decode import all_logits, choose_labels, decoding_of, tag
from seetell.learn.tasks.tagging.figures import Predictions
from seetell.learn.tasks.tagging.sheets import write_tag_sheets
from seetell.learn.training.batching import chunks
from seetell.learn.training.data import TrainingData, labelled
from seetell.learn.training.run import Run, Setup, build_model
from seetell.text import Vocabulary


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
        count = min(self.settings.train_images, len(train))
        self.sample = np.unique(np.linspace(0, len(train) - 1, count).round().astype(np.int64))
        self.loss: nn.Module = nn.Identity()
        self.orders: Orders | None = None

    def begin(self, phase: Phase) -> None:
        settings = phase.loss
        if isinstance(settings, LabelSequenceLossSettings):
            self.orders = Orders(self.train_data.truth, self.vocabulary, settings.order)
            self.loss = CrossEntropy(smoothing=settings.smoothing)
        else:
            self.loss = make_loss(settings)

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
            again = tag(self.model, self.train_data.images, self.vocabulary, settings, places=self.sample)
            scores = again.scores(self.train_data.truth[self.sample])
            metrics["train"] = {name: scores[name] for name in ("precision", "recall", "f1_of_means")}
        return Validation(metrics["f1_of_means"], metrics)


def setup(training_data: TrainingData) -> Setup:
    """Vocabulary, label embeddings to start from, transform and model, all from the training split."""
    recipe = training_data.recipe
    train_records, train_images = training_data.split("train", labelled)
    validation_records, validation_images = training_data.split("val", labelled)
    vocabulary = label_vocabulary(training_data.dataset)
    vectors = label_vectors(vocabulary, recipe.text)
    given = sizes(vocabulary, vectors)
    transform = training_data.transform(train_images)
    model = build_model(recipe, training_data.features.layout, given, transform=transform, vectors=vectors)
    train = LabelledImages.of(train_records, train_images, vocabulary)
    validation = LabelledImages.of(validation_records, validation_images, vocabulary)
    return Setup(TagTask(model, recipe, train, validation, vocabulary), vocabulary, given)


def evaluate(run: Run, training_data: TrainingData, split: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Tag every image of a split. `beam` may be given for label sequences; as `sheet`, a folder for the figures of
    Ren's section 5; as `predictions`, a file for the labels of every image."""
    assert run.vocabulary is not None
    records, images = training_data.split(split, labelled)
    data = LabelledImages.of(records, images, run.vocabulary)
    settings = decoding_of(run.recipe)
    if options.get("beam"):
        settings = replace(settings, beam=int(options["beam"]))
    tagged = tag(run.model(), images, run.vocabulary, settings, testing=True)
    if options.get("sheet"):
        write_tag_sheets(run.recipe.name, records, data, tagged, run.vocabulary, run.history(), Path(options["sheet"]))
    if options.get("predictions"):
        told = [tagged.told(place, run.vocabulary) for place in range(len(records))]
        names, labels = [record.key for record in records], [record.labels for record in records]
        Predictions(names, labels, told).write(Path(options["predictions"]))
    protocol = settings.protocol(sequence=tagged.sequences is not None)
    unknown = data.labels[len(run.vocabulary.words) :]
    found = {"metrics": tagged.scores(data.truth), "protocol": protocol, "images": len(records)}
    return {**found, "notes": [f"labels that no training image had: {', '.join(unknown)}"]} if unknown else found
