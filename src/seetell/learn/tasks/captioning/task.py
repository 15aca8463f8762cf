"""The captioning task: trained by likelihood, the hard-attention rule or a reward.

Batches hold captions of one length (Xu, section 4.3), of mixed lengths, one caption per image, or all captions of some
images (Vaishali). After each epoch, captions are generated for images of the validation split; the best BLEU-4 (Xu) or
CIDEr selects the model.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
import numpy as np
import torch
from torch import Tensor

from seetell.learn.models.captioner import CaptionModel
from seetell.learn.recipes import Phase, Recipe, RecipeError
from seetell.learn.recipes.loss_settings import CrossEntropySettings, HardAttentionSettings, SelfCriticalSettings
from seetell.learn.tasks.captioning.data import CaptionedImages
from seetell.learn.tasks.captioning.decode import decoding_of, generate, next_word_accuracy, rules, sentences
from seetell.learn.tasks.captioning.objectives import Batch, HardAttention, Likelihood, Objective
from seetell.learn.tasks.captioning.self_critical import SelfCriticalObjective
from seetell.learn.training.batching import chunks, length_buckets, one_caption
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.run import build_model
from seetell.learn.training.task import Setup, Task, Validation
from seetell.learn.training.words import starting_vocabulary, with_vectors
from seetell.metrics.captions.diversity import degenerate, diversity
from seetell.metrics.captions.scores import score_captions
from seetell.text import Vocabulary
from seetell.text import by_name as tokenizer_by_name
from seetell.util import evenly_spaced


class CaptionTask(Task):
    """A caption model, its objective, and its batches."""

    def __init__(
        self,
        model: CaptionModel,
        recipe: Recipe,
        train: CaptionedImages,
        validation: CaptionedImages,
        vocabulary: Vocabulary,
    ) -> None:
        super().__init__()
        self.model = model
        self.recipe, self.train_data, self.validation_data, self.vocabulary = recipe, train, validation, vocabulary
        self.decoding = decoding_of(recipe)
        self.objective: Objective = Likelihood()
        self.predicted: list[list[str]] = []  # in the last validation

    @property
    def captioner(self) -> CaptionModel:
        return cast(CaptionModel, self.model)

    def begin(self, phase: Phase) -> None:
        if isinstance(phase.loss, SelfCriticalSettings):
            references = self.train_data.token_references()
            self.objective = SelfCriticalObjective(references, rules(self.decoding, self.vocabulary), phase.loss)
        elif isinstance(phase.loss, HardAttentionSettings):
            self.objective = HardAttention(phase.loss)
        else:
            assert isinstance(phase.loss, CrossEntropySettings)
            self.objective = Likelihood(phase.loss)

    def plan(self, phase: Phase, random: np.random.Generator) -> Sequence[np.ndarray]:
        """What each batch holds, as indices of captions."""
        data, how = self.train_data, self.recipe.training.captions
        if self.objective.by_image or how == "one":
            return one_caption(data.owners, phase.batch, random)
        if how == "images":
            first = np.searchsorted(data.owners, np.arange(len(data.references) + 1))
            groups = chunks(random.permutation(np.flatnonzero(np.diff(first))), phase.batch)
            return [np.concatenate([np.arange(first[p], first[p + 1]) for p in group]) for group in groups]
        if how == "mixed":
            return chunks(random.permutation(len(data.captions)), phase.batch)
        return length_buckets(data.captions.lengths, phase.batch, random)

    def collate(self, item: np.ndarray, random: np.random.Generator) -> tuple[Tensor, ...]:
        data = self.train_data
        item = item[np.argsort(-data.captions.lengths[item], kind="stable")]  # no step is spent on padding
        images, rows = np.unique(data.owners[item], return_inverse=True)
        tokens, _ = data.captions.pad(item)
        seed = torch.tensor(int(random.integers(2**62)))
        return tokens, data.images.batch(images, random), torch.from_numpy(rows), torch.from_numpy(images), seed

    def forward(self, batch: Sequence[Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        loss, logs = self.objective(self.captioner, Batch.of(batch))
        return loss, logs

    def validate(self) -> Validation:
        """Caption the validation images, or a fixed number of them, and score the captions."""
        data = self.validation_data
        images = np.array(evenly_spaced(len(data.references), self.decoding.validation_images or None))
        decoded = generate(
            self.captioner, data.images, self.vocabulary, self.decoding, indices=images, when="validation"
        )
        self.predicted = sentences(decoded, self.vocabulary)
        captions, references = [" ".join(words) for words in self.predicted], [data.references[i] for i in images]
        metrics = {
            **score_captions(captions, references, meteor=False).metrics,
            **diversity(self.predicted),
            "next_word_accuracy": next_word_accuracy(self.captioner, data, images),
        }
        return Validation(metrics[self.decoding.select], metrics)

    def advice(self, history: Sequence[Mapping[str, Any]]) -> str:
        return degenerate(self.predicted) or ""


def check(recipe: Recipe) -> None:
    """Refuse self-critical training from scratch."""
    if isinstance(recipe.phases[0].loss, SelfCriticalSettings) and not recipe.training.start_from:
        raise RecipeError(
            "self-critical training starts from a trained captioner",
            where=recipe.name,
            remedy="Name its run: --set training.start_from=RUN",
        )


def setup(data: TrainingData) -> Setup:
    """Vocabulary, word vectors, transform and model, all from the training split."""
    recipe, text = data.recipe, data.recipe.text
    tokenizer = tokenizer_by_name(text.tokenizer)
    train_records, train_images = data.split("train", captioned)
    validation_records, validation_images = data.split("val", captioned)
    if data.warm_start and isinstance(recipe.phases[0].loss, SelfCriticalSettings):
        vocabulary = data.warm_start.vocabulary  # a reward teaches no new words
    else:
        vocabulary = starting_vocabulary(train_records, text, tokenizer, data.warm_start)
    sizes = {"words": len(vocabulary)}
    vectors = None
    if text.vectors:
        _, vectors = with_vectors(vocabulary, msgspec.structs.replace(text, extra_words=0))
        sizes["vector_dimensions"] = vectors.shape[1]
    transform = data.transform(train_images)
    model = build_model(recipe, data.features.layout, sizes, transform=transform, vectors=vectors)
    train = CaptionedImages.of(train_records, train_images, tokenizer, vocabulary, text.maximum_words)
    validation = CaptionedImages.of(validation_records, validation_images, tokenizer, vocabulary)
    return Setup(CaptionTask(cast(CaptionModel, model), recipe, train, validation, vocabulary), vocabulary, sizes)
