"""The retrieval task: captions and images into one space, by a ranking loss; validated by the sum of recalls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from seetell.data import Record
from seetell.evaluation.retrieval_sheet import EmbeddedSplit
from seetell.learn.losses import CollapseDetector, make_loss, similarity_by_name, started_above
from seetell.learn.models.sentence_match import SentenceMatch
from seetell.learn.models.sentences import sentence_vocabulary
from seetell.learn.recipes import Phase, Recipe, RecipeError
from seetell.learn.tasks.base import Task, Validation
from seetell.learn.tasks.retrieval.sheets import write_retrieval_sheets
from seetell.learn.tasks.retrieval.text_states import FrozenTextStates, Texts, in_order_of_length, read_once
from seetell.learn.training.batching import Sequences, all_captions, one_caption, together
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.inputs import ImageInputs, in_batches
from seetell.learn.training.run import Run, Setup, build_model
from seetell.learn.training.words import starting_vocabulary, with_vectors
from seetell.metrics import RetrievalScores, retrieval_scores
from seetell.metrics.retrieval import DirectionScores, retrieval_ranks
from seetell.similarity import by_name
from seetell.text import PIECES, Tokenizer, Vocabulary, words
from seetell.text.tokenizers import by_name as tokenizer_by_name

NOTHING = ""  # stands for an empty caption: no vocabulary has it, so it is read as an unknown word


class RetrievalModel(Protocol):
    """What every retrieval model offers."""

    similarity: str
    dimensions: int

    def images(self, features: Tensor) -> Tensor: ...
    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class PairedImages:
    """One split: image inputs, captions as word numbers, and whose caption each is."""

    images: ImageInputs
    captions: Sequences
    owners: np.ndarray
    text_states: FrozenTextStates | None = None  # of each caption, what frozen layers of a sentence encoder make of it

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        images: ImageInputs,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary,
        cut: int = 0,
    ) -> "PairedImages":
        tokens = [tokenizer(caption) for record in records for caption in record.captions]
        captions = Sequences(vocabulary.encode((each[:cut] if cut else each) or [NOTHING]) for each in tokens)
        owners = np.repeat(np.arange(len(records)), [len(record.captions) for record in records])
        return cls(images, captions, owners)

    @property
    def texts(self) -> Texts:
        """What is read of the captions: themselves, or what was read of them already."""
        return self.captions if self.text_states is None else self.text_states

    def embedding(self, model: "RetrievalModel") -> Callable[[Tensor, Tensor], Tensor]:
        """The part of a model's text side that reads it."""
        return model.texts if self.text_states is None else cast(SentenceMatch, model).texts_read


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
        ways = {"one": one_caption, "all": all_captions, "together": together}
        how = self.recipe.training.captions
        if how not in ways:
            raise RecipeError(f"training.captions is {how!r}", remedy=f"Choose one of: {', '.join(ways)}")
        return ways[how](self.train_data.owners, phase.batch, random)

    def collate(self, item: np.ndarray, random: np.random.Generator) -> tuple[Tensor, ...]:
        """Captions (B), and the images they belong to, each once (P ≤ B)."""
        owners, place = np.unique(self.train_data.owners[item], return_inverse=True)
        positives = torch.from_numpy(place[None, :] == np.arange(len(owners))[:, None])  # (P, B)
        images = self.train_data.images.batch(owners, random)
        return *self.train_data.texts.pad(item), images, positives

    def forward(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
        captions, lengths, features, positives = batch
        texts = self.train_data.embedding(self.retriever)(captions, lengths)
        images = self.retriever.images(features)
        # Pairs that were trained as one would rely on each other; apart, their mistakes differ and average out.
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
    texts = in_order_of_length(data.texts, data.embedding(model), _device(model))
    return retrieval_scores(images, texts, data.owners, similarity=by_name(model.similarity), folds=folds)


def _device(model: RetrievalModel) -> torch.device:
    return next(cast(nn.Module, model).parameters()).device


@torch.inference_mode()
def embed_images(model: RetrievalModel, images: ImageInputs, batch: int = 128) -> np.ndarray:
    """The embeddings of all images, in order."""
    device = _device(model)
    parts = [model.images(images.batch(some).to(device)).float().cpu() for some in in_batches(len(images), batch)]
    return torch.cat(parts).numpy()


def embed_texts(model: RetrievalModel, captions: Sequences, batch: int = 256) -> np.ndarray:
    """The embeddings of all captions, in order."""
    return in_order_of_length(captions, model.texts, _device(model), batch)


def setup(training_data: TrainingData) -> Setup:
    """Vocabulary, word vectors, transform and model, all from the training split."""
    recipe, text = training_data.recipe, training_data.recipe.text
    train_records, train_images = training_data.split("train", captioned)
    validation_records, validation_images = training_data.split("val", captioned)
    if text.tokenizer == PIECES:
        vocabulary = sentence_vocabulary()
    else:
        tokens = tokenizer_by_name(text.tokenizer)
        vocabulary = starting_vocabulary(train_records, text, tokens, training_data.warm_start)
    tokenizer = tokenizer_by_name(text.tokenizer, vocabulary)
    given: dict[str, Any] = {"trained": len(vocabulary)}
    vectors = None
    if text.vectors:
        vocabulary, vectors = with_vectors(vocabulary, text)
        given["vector_dimensions"] = vectors.shape[1]
    given["words"] = len(vocabulary)
    transform = training_data.transform(train_images)
    model = build_model(recipe, training_data.features.layout, given, transform=transform, vectors=vectors)
    train = PairedImages.of(train_records, train_images, tokenizer, vocabulary, text.maximum_words)
    validation = PairedImages.of(validation_records, validation_images, tokenizer, vocabulary)
    if isinstance(model, SentenceMatch):
        folder = training_data.features.store.folder.parent
        train, validation = (
            replace(data, text_states=read_once(model, data.captions, folder, training_data.progress))
            for data in (train, validation)
        )
        begun = training_data.warm_start
        if begun is None or not begun.has(model.text_transform, "text_transform"):  # else it comes with the weights
            assert train.text_states is not None
            device = next(model.parameters()).device
            model.fit_texts(torch.from_numpy(in_order_of_length(train.text_states, model.eval().summed, device)))
    return Setup(RetrievalTask(model, recipe, train, validation), vocabulary, given)


def evaluate(run: Run, training_data: TrainingData, split: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Retrieve in both directions within a split; `folds` cuts it into so many parts and averages over them, `sheet` is
    a folder to show in what some queries find."""
    assert run.vocabulary is not None
    records, images = training_data.split(split, captioned)
    tokenizer = tokenizer_by_name(run.recipe.text.tokenizer, run.vocabulary)
    data = PairedImages.of(records, images, tokenizer, run.vocabulary)
    model = cast(RetrievalModel, run.model())
    seen, read = embed_images(model, images), embed_texts(model, data.captions)
    similarity = by_name(model.similarity)
    scores = retrieval_scores(seen, read, data.owners, similarity=similarity, folds=int(options.get("folds", 1)))
    if folder := options.get("sheet"):
        captions = [caption for record in records for caption in record.captions]
        about = f"{training_data.dataset.name}, split {split}: {scores.protocol}; sum of recalls {scores.sum_of_recalls:.1f}."
        embedded = EmbeddedSplit(records, captions, seen, read, data.owners, similarity)
        write_retrieval_sheets(embedded, Path(folder), title=f"What {run.recipe.name} finds", about=about)
    report: dict[str, Any] = {"metrics": scores.as_dict(), "protocol": scores.protocol, "images": len(records)}
    if fresh := _with_unseen_words(records, training_data.dataset.split("train") if split != "train" else ()):
        _, ranks = retrieval_ranks(seen, read, data.owners, similarity=similarity)
        report["unseen_words"] = {
            "captions": len(fresh),
            "text_to_image": DirectionScores.of(ranks[fresh]).as_dict(),
            "the_others": DirectionScores.of(np.delete(ranks, fresh)).as_dict(),
        }
    return report


def _with_unseen_words(records: Sequence[Record], training: Sequence[Record]) -> list[int]:
    """Which captions have a word that no training caption has: how well does a model read what it was not taught?"""
    known = {word for record in training for caption in record.captions for word in words(caption)}
    captions = [caption for record in records for caption in record.captions]
    fresh = [place for place, caption in enumerate(captions) if not known.issuperset(words(caption))]
    return fresh if known and len(fresh) < len(captions) else []
