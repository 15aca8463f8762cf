"""Evaluate a retrieval run: recall in both directions."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from seetell.data import Record
from seetell.evaluation.options import EvaluationOptions
from seetell.evaluation.retrieval_sheet import EmbeddedSplit
from seetell.learn.tasks.retrieval.data import PairedImages, RetrievalModel, embed_images, embed_texts
from seetell.learn.tasks.retrieval.sheets import write_retrieval_sheets
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.run import Run
from seetell.learn.training.task import Evaluation
from seetell.metrics import retrieval_scores
from seetell.metrics.retrieval import DirectionScores, retrieval_ranks
from seetell.similarity import by_name
from seetell.text import words
from seetell.text.tokenizers import by_name as tokenizer_by_name


def evaluate(run: Run, data: TrainingData, split: str, options: EvaluationOptions) -> Evaluation:
    """Retrieve in both directions within a split, with the best model of a run."""
    assert run.vocabulary is not None
    records, images = data.split(split, captioned)
    tokenizer = tokenizer_by_name(run.recipe.text.tokenizer, run.vocabulary)
    pairs = PairedImages.of(records, images, tokenizer, run.vocabulary)
    model = cast(RetrievalModel, run.model())
    captions = [caption for record in records for caption in record.captions]
    similarity = by_name(model.similarity)
    embedded = EmbeddedSplit(
        records, captions, embed_images(model, images), embed_texts(model, pairs.captions), pairs.owners, similarity
    )
    scores = retrieval_scores(
        embedded.images, embedded.texts, embedded.owners, similarity=similarity, folds=options.folds
    )
    if options.sheet is not None:
        about = f"{data.dataset.name}, split {split}: {scores.protocol}; sum of recalls {scores.sum_of_recalls:.1f}."
        write_retrieval_sheets(embedded, options.sheet, title=f"What {run.recipe.name} finds", about=about)
    unseen = _unseen_words(embedded, data.dataset.split("train") if split != "train" else ())
    return Evaluation(scores.as_dict(), scores.protocol, len(records), unseen_words=unseen)


def _unseen_words(embedded: EmbeddedSplit, training: Sequence[Record]) -> dict[str, Any] | None:
    """Recall of captions with words that no training caption has, and of the others: does the model generalise?"""
    known = {word for record in training for caption in record.captions for word in words(caption)}
    captions = embedded.captions
    unseen = [index for index, caption in enumerate(captions) if not known.issuperset(words(caption))]
    if not known or not unseen or len(unseen) == len(captions):
        return None
    _, ranks = retrieval_ranks(embedded.images, embedded.texts, embedded.owners, similarity=embedded.similarity)
    return {
        "captions": len(unseen),
        "text_to_image": DirectionScores.of(ranks[unseen]).as_dict(),
        "the_others": DirectionScores.of(np.delete(ranks, unseen)).as_dict(),
    }
