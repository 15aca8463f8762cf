"""The captioning task: images and captions into a captioner, by likelihood, the hard-attention rule or a reward.

Batches are of captions of one length (Xu, section 4.3), of all lengths mixed, of one caption an image, or of all
captions of some images (Vaishali). Epochs are judged by captions: images of the validation split are told, and the
best BLEU-4 (Xu) or CIDEr chooses the model.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from seetell.data import Dataset, Record
from seetell.learn.losses.settings import made
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.recipes import Phase, Recipe, RecipeError
from seetell.learn.tasks.base import Task, Validation
from seetell.learn.tasks.captioning.decode import DecodingSettings, sentences, tell
from seetell.learn.tasks.captioning.objectives import Batch, HardAttention, Likelihood, Objective, accuracy, split
from seetell.learn.tasks.captioning.predictions import CaptionPrediction, write_predictions
from seetell.learn.tasks.captioning.self_critical import SelfCriticalObjective
from seetell.learn.tasks.captioning.sheets import attention_on_things, write_caption_sheets
from seetell.learn.training.batching import Sequences, chunks, length_buckets, one_caption
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.inputs import ImageInputs, in_batches
from seetell.learn.training.run import Run, Setup, build_model
from seetell.learn.training.words import starting_vocabulary, with_vectors
from seetell.metrics.captions.diversity import degenerate, diversity
from seetell.metrics.captions.scores import score_captions
from seetell.text import Tokenizer, Vocabulary, ptb
from seetell.text import by_name as tokenizer_by_name

OBJECTIVES: dict[str, type[Objective]] = {"cross_entropy": Likelihood, "hard_attention": HardAttention}
WAYS = ("all", "mixed", "one", "images")


@dataclass(frozen=True)
class CaptionedImages:
    """One split: image inputs, captions as numbers of words from `<start>` to `<end>`, whose caption each is, and the
    captions as they were written, which is what a told caption is compared with."""

    images: ImageInputs
    captions: Sequences
    owners: np.ndarray
    references: Sequence[Sequence[str]]

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        images: ImageInputs,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary,
        cut: int = 0,
    ) -> "CaptionedImages":
        words = (tokenizer(caption) for record in records for caption in record.captions)
        captions = Sequences(vocabulary.encode(w[:cut] if cut else w, start=True, end=True) for w in words)
        owners = np.repeat(np.arange(len(records)), [len(record.captions) for record in records])
        return cls(images, captions, owners, [record.captions for record in records])


class CaptionTask(Task):
    """A captioner, its objective, and its batches."""

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
        self.decoding = DecodingSettings.of(recipe.decoding)
        self.objective: Objective = Likelihood()
        self.told: list[list[str]] = []  # of the last validation
        if recipe.training.captions not in WAYS:
            raise RecipeError(
                f"training.captions is {recipe.training.captions!r}", remedy=f"Choose one of: {', '.join(WAYS)}"
            )

    @property
    def captioner(self) -> CaptionModel:
        return cast(CaptionModel, self.model)

    def begin(self, phase: Phase) -> None:
        settings = dict(phase.loss)
        if settings.get("kind") == "self_critical":
            del settings["kind"]
            captions, owners = self.train_data.captions, self.train_data.owners
            references: list[list[list[int]]] = [[] for _ in self.train_data.references]
            for place, owner in enumerate(owners.tolist()):
                references[owner].append(captions[place][1:].tolist())
            rules = self.decoding.rules(self.vocabulary)
            self.objective = SelfCriticalObjective(references, rules, **settings)
        else:
            self.objective = made(OBJECTIVES, settings, "caption loss")

    def plan(self, phase: Phase, random: np.random.Generator) -> Sequence[np.ndarray]:
        """What each batch holds, as numbers of captions."""
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
        """Tell the validation images, or a fixed number of them, and score the captions."""
        data, wanted = self.validation_data, self.decoding.validation_images
        total = len(data.references)
        places = np.unique(np.linspace(0, total - 1, min(wanted or total, total)).round().astype(np.int64))
        told = tell(self.captioner, data.images, self.vocabulary, self.decoding, places=places, when="validation")
        self.told = sentences(told, self.vocabulary)
        scored = score_captions([" ".join(s) for s in self.told], [data.references[p] for p in places], meteor=False)
        metrics = {**scored.metrics, **diversity(self.told)}
        metrics["next_word_accuracy"] = under_teacher(self.captioner, data, places)
        if self.decoding.select not in metrics:
            raise RecipeError(
                f"no metric is called {self.decoding.select!r}", where="decoding.select", remedy="bleu4 or cider"
            )
        return Validation(metrics[self.decoding.select], metrics)

    def advice(self, history: Sequence[Mapping[str, Any]]) -> str:
        return degenerate(self.told) or ""


@torch.inference_mode()
def under_teacher(model: CaptionModel, data: CaptionedImages, places: np.ndarray) -> float:
    """Next-word accuracy in per cent on captions of some images, the first of each."""
    device = next(model.parameters()).device
    first = np.searchsorted(data.owners, places)
    chosen = first[np.argsort(-data.captions.lengths[first], kind="stable")]  # no step is spent on padding
    right = total = 0
    for some in in_batches(len(chosen), 64):
        tokens, _ = data.captions.pad(chosen[some])
        read, words, mask = split(tokens.to(device))
        features = data.images.batch(data.owners[chosen[some]]).to(device)
        hits, number = accuracy(model(features, read), words, mask)
        right, total = right + hits, total + number
    return 100 * right / max(1, total)


def setup(training_data: TrainingData) -> Setup:
    """Vocabulary, word vectors, transform and model, all from the training split.

    A run that starts from another keeps that one's words.
    """
    recipe, text = training_data.recipe, training_data.recipe.text
    if recipe.phases[0].loss.get("kind") == "self_critical" and not recipe.training.start_from:
        raise RecipeError(
            "self-critical training starts from a trained captioner",
            where=recipe.name,
            remedy="Name its run: --set training.start_from=RUN",
        )
    tokenizer = tokenizer_by_name(text.tokenizer)
    train_records, train_images = training_data.split("train", captioned)
    validation_records, validation_images = training_data.split("val", captioned)
    if training_data.warm_start and recipe.phases[0].loss.get("kind") == "self_critical":
        vocabulary = training_data.warm_start.vocabulary  # nothing teaches it new words
    else:
        vocabulary = starting_vocabulary(train_records, text, tokenizer, training_data.warm_start)
    given: dict[str, Any] = {"words": len(vocabulary)}
    vectors = None
    if text.vectors:
        _, vectors = with_vectors(vocabulary, replace(text, extra_words=0))
        given["vector_dimensions"] = vectors.shape[1]
    transform = training_data.transform(train_images)
    model = build_model(recipe, training_data.features.layout, given, transform=transform, vectors=vectors)
    train = CaptionedImages.of(train_records, train_images, tokenizer, vocabulary, text.maximum_words)
    validation = CaptionedImages.of(validation_records, validation_images, tokenizer, vocabulary)
    return Setup(CaptionTask(cast(CaptionModel, model), recipe, train, validation, vocabulary), vocabulary, given)


def evaluate(run: Run, training_data: TrainingData, split: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Tell every image of a split and score the captions.

    `beam` (0: the recipe's) and the other settings of `[decoding]` may be given, `meteor` (see `score_captions`); as
    `predictions`, a file for the caption of every image; as `sheet`, a folder for a page that shows some of them.
    """
    assert run.vocabulary is not None
    records, images = training_data.split(split, captioned)
    tokenizer = tokenizer_by_name(run.recipe.text.tokenizer)
    data = CaptionedImages.of(records, images, tokenizer, run.vocabulary)
    known = DecodingSettings.__dataclass_fields__
    chosen = {key: value for key, value in options.items() if key in known and (key, value) != ("beam", 0)}
    settings = DecodingSettings.of({**run.recipe.decoding, **chosen})
    model = cast(CaptionModel, run.model())
    started = time.monotonic()
    decoded = tell(model, images, run.vocabulary, settings)
    seconds = time.monotonic() - started
    found = score_told(records, sentences(decoded, run.vocabulary), training_data.dataset, options)
    found["metrics"] |= {
        "next_word_accuracy": under_teacher(model, data, np.arange(len(records))),
        **attention_on_things(run, records, decoded),
    }
    found["protocol"] = f"{settings}; {found['protocol']}"
    if options.get("sheet"):
        about = (
            f"{training_data.dataset.name}, split {split}: {found['protocol']}; CIDEr {found['metrics']['cider']:.1f}."
        )
        write_caption_sheets(run, records, images, decoded, Path(options["sheet"]), about=about)
    return {**found, "seconds_decoding": round(seconds, 4)}


def score_told(
    records: Sequence[Record], told: Sequence[Sequence[str]], dataset: Dataset, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Scores and variety of what was told of some records, whoever told it; `options` are those of `evaluate`."""
    captions, references = [" ".join(words) for words in told], [record.captions for record in records]
    scored = score_captions(captions, references, meteor=options.get("meteor", "auto"))
    training = [ptb(caption) for record in dataset.split("train") for caption in record.captions]
    metrics = {**scored.metrics, **diversity([ptb(caption) for caption in captions], training or None)}
    if options.get("predictions"):
        each = zip(records, captions, scored.per_image["cider"].tolist(), strict=True)
        lines = [
            CaptionPrediction(record.key, caption, list(record.captions), score) for record, caption, score in each
        ]
        write_predictions(Path(options["predictions"]), lines)
    protocol = "PTB tokenizer; BLEU with and without brevity penalty"
    notes = [*scored.notes, *filter(None, [degenerate([list(words) for words in told])])]
    found: dict[str, Any] = {"metrics": metrics, "protocol": protocol, "images": len(records)}
    return {**found, "notes": notes} if notes else found
