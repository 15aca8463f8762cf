"""The retrieval task: captions and images in one space, trained by a ranking loss, validated by the sum of recalls."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from seetell.learn.losses import CollapseDetector, make_loss, similarity_by_name, started_above
from seetell.learn.models.sentence_match import SentenceMatch
from seetell.learn.models.sentences import sentence_vocabulary
from seetell.learn.recipes import Phase, Recipe
from seetell.learn.tasks.retrieval.data import PairedImages, RetrievalModel, device_of, embed_images
from seetell.learn.tasks.retrieval.text_states import embed_by_length, frozen_states
from seetell.learn.training.batching import all_captions, one_caption, together
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.run import build_model
from seetell.learn.training.task import Setup, Task, Validation
from seetell.learn.training.words import starting_vocabulary, with_vectors
from seetell.metrics import RetrievalScores, retrieval_scores
from seetell.similarity import by_name
from seetell.text import PIECES
from seetell.text.tokenizers import by_name as tokenizer_by_name

BATCHES = {"one": one_caption, "all": all_captions, "together": together}  # by `training.captions`


class RetrievalTask(Task):
    """A retrieval model with the loss of the phase it is in."""

    def __init__(self, model: nn.Module, recipe: Recipe, train: PairedImages, validation: PairedImages) -> None:
        super().__init__()
        self.model = model
        self.recipe, self.train_data, self.validation_data = recipe, train, validation
        self.loss: nn.Module = nn.Identity()
        self.similarity = similarity_by_name(self.retriever.similarity)
        self.detector: CollapseDetector | None = None

    @property
    def retriever(self) -> RetrievalModel:
        return cast(RetrievalModel, self.model)

    def begin(self, phase: Phase) -> None:
        self.loss = make_loss(phase.loss)
        data = self.validation_data
        self.detector = CollapseDetector(
            phase.loss,
            phase.batch,
            threshold=started_above(len(data.images), len(data.captions)),
            signed=self.retriever.similarity == "order" and not getattr(self.recipe.model, "absolute", False),
        )

    def plan(self, phase: Phase, random: np.random.Generator) -> Sequence[np.ndarray]:
        return BATCHES[self.recipe.training.captions](self.train_data.owners, phase.batch, random)

    def collate(self, item: np.ndarray, random: np.random.Generator) -> tuple[Tensor, ...]:
        """Captions (B), and the images they belong to, each once (P ≤ B)."""
        owners, image = np.unique(self.train_data.owners[item], return_inverse=True)
        positives = torch.from_numpy(image[None, :] == np.arange(len(owners))[:, None])  # (P, B)
        images = self.train_data.images.batch(owners, random)
        return *self.train_data.texts.pad(item), images, positives

    def forward(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
        captions, lengths, features, positives = batch
        texts = self.train_data.text_side(self.retriever)(captions, lengths)
        images = self.retriever.images(features)
        # Pairs of branches trained jointly would rely on each other; trained apart, their errors average out.
        pairs = int(getattr(self.model, "pairs", 1))
        losses = [
            self.loss(self.similarity(*both), positives)
            for both in zip(images.chunk(pairs, 1), texts.chunk(pairs, 1), strict=True)
        ]
        return torch.stack(losses).mean(), {}

    def validate(self) -> Validation:
        scores = score(self.retriever, self.validation_data)
        return Validation(scores.sum_of_recalls, scores.as_dict())

    def advice(self, history: Sequence[Mapping[str, Any]]) -> str:
        assert self.detector is not None
        phase = history[-1]["phase"]
        return self.detector.advice([record for record in history if record["phase"] == phase])


def score(model: RetrievalModel, data: PairedImages, folds: int = 1) -> RetrievalScores:
    """Retrieve each side of a split with the other."""
    images = embed_images(model, data.images)
    texts = embed_by_length(data.texts, data.text_side(model), device_of(model))
    return retrieval_scores(images, texts, data.owners, similarity=by_name(model.similarity), folds=folds)


def setup(data: TrainingData) -> Setup:
    """Vocabulary, word vectors, transform and model, all from the training split."""
    recipe, text = data.recipe, data.recipe.text
    train_records, train_images = data.split("train", captioned)
    validation_records, validation_images = data.split("val", captioned)
    if text.tokenizer == PIECES:
        vocabulary = sentence_vocabulary()
    else:
        vocabulary = starting_vocabulary(train_records, text, tokenizer_by_name(text.tokenizer), data.warm_start)
    tokenizer = tokenizer_by_name(text.tokenizer, vocabulary)
    sizes = {"trained": len(vocabulary)}
    vectors = None
    if text.vectors:
        vocabulary, vectors = with_vectors(vocabulary, text)
        sizes["vector_dimensions"] = vectors.shape[1]
    sizes["words"] = len(vocabulary)
    transform = data.transform(train_images)
    model = build_model(recipe, data.features.layout, sizes, transform=transform, vectors=vectors)
    train = PairedImages.of(train_records, train_images, tokenizer, vocabulary, text.maximum_words)
    validation = PairedImages.of(validation_records, validation_images, tokenizer, vocabulary)
    if isinstance(model, SentenceMatch):
        train, validation = (_with_states(model, pairs, data) for pairs in (train, validation))
        _fit_text_transform(model, train, data)
    return Setup(RetrievalTask(model, recipe, train, validation), vocabulary, sizes)


def _with_states(model: SentenceMatch, pairs: PairedImages, data: TrainingData) -> PairedImages:
    folder = data.features.store.folder.parent
    return replace(pairs, text_states=frozen_states(model, pairs.captions, folder, data.progress))


def _fit_text_transform(model: SentenceMatch, train: PairedImages, data: TrainingData) -> None:
    """Fit the transform of sentence vectors on the training captions, unless a warm start brings its own."""
    if data.warm_start is None or not data.warm_start.has(model.text_transform, "text_transform"):
        assert train.text_states is not None
        device = next(model.parameters()).device
        model.fit_texts(torch.from_numpy(embed_by_length(train.text_states, model.eval().summed, device)))
