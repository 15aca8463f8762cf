"""Evaluate a captioning run: generate a caption for every image of a split and score them."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, cast

import msgspec
import numpy as np

from seetell.data import Dataset, Record
from seetell.evaluation.options import EvaluationOptions
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.recipes.decoding import CaptioningDecoding
from seetell.learn.tasks.captioning.data import CaptionedImages
from seetell.learn.tasks.captioning.decode import decoding_of, generate, next_word_accuracy, sentences
from seetell.learn.tasks.captioning.sheets import attention_on_objects, write_caption_sheets
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.run import Run
from seetell.learn.training.task import Evaluation, Prediction
from seetell.metrics.captions.diversity import degenerate, diversity
from seetell.metrics.captions.scores import score_captions
from seetell.text import by_name as tokenizer_by_name
from seetell.text import ptb


def evaluate(run: Run, data: TrainingData, split: str, options: EvaluationOptions) -> Evaluation:
    """Caption every image of a split with the best model of a run, and score the captions."""
    assert run.vocabulary is not None
    records, images = data.split(split, captioned)
    settings = _decoding(run, options)
    model = cast(CaptionModel, run.model())
    started = time.monotonic()
    decoded = generate(model, images, run.vocabulary, settings)
    seconds = time.monotonic() - started
    found = score_predictions(records, sentences(decoded, run.vocabulary), data.dataset, meteor=options.meteor)
    captions = CaptionedImages.of(records, images, tokenizer_by_name(run.recipe.text.tokenizer), run.vocabulary)
    metrics = {
        **found.metrics,
        "next_word_accuracy": next_word_accuracy(model, captions, np.arange(len(records))),
        **attention_on_objects(run, records, decoded),
    }
    evaluation = replace(found, metrics=metrics, protocol=f"{settings}; {found.protocol}", seconds=seconds)
    if options.sheet is not None:
        about = f"{data.dataset.name}, split {split}: {evaluation.protocol}; CIDEr {metrics['cider']:.1f}."
        write_caption_sheets(run, records, images, decoded, options.sheet, about=about)
    return evaluation


def _decoding(run: Run, options: EvaluationOptions) -> CaptioningDecoding:
    """The recipe's decoding, with what the options change."""
    chosen = {"beam": options.beam, "alpha": options.length}
    return msgspec.structs.replace(
        decoding_of(run.recipe), **{key: value for key, value in chosen.items() if value is not None}
    )


def score_predictions(
    records: Sequence[Record],
    predicted: Sequence[Sequence[str]],
    dataset: Dataset,
    *,
    meteor: bool | Literal["auto"] = "auto",
) -> Evaluation:
    """Scores and diversity of captions, by whichever model.

    Args:
        predicted: the words of each record's caption.
        dataset: its training captions decide which captions are novel.
        meteor: see `score_captions`.
    """
    captions, references = [" ".join(words) for words in predicted], [record.captions for record in records]
    scored = score_captions(captions, references, meteor=meteor)
    training = [ptb(caption) for record in dataset.split("train") for caption in record.captions]
    metrics = {**scored.metrics, **diversity([ptb(caption) for caption in captions], training or None)}
    scores = zip(records, captions, scored.per_image["cider"].tolist(), strict=True)
    return Evaluation(
        metrics,
        "PTB tokenizer; BLEU with and without brevity penalty",
        len(records),
        notes=(*scored.notes, *filter(None, [degenerate([list(words) for words in predicted])])),
        predictions=[
            Prediction(record.key, tuple(record.captions), (caption,), score) for record, caption, score in scores
        ],
    )
