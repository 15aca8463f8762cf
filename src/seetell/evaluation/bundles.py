"""A split of a dataset through the heads of a model, to scores: the metrics of training, without PyTorch."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seetell.data import Dataset, Record
from seetell.errors import DatasetError
from seetell.evaluation.options import EvaluationOptions
from seetell.metrics import retrieval_scores
from seetell.metrics.captions.scores import score_captions
from seetell.metrics.labels import label_scores, mean_average_precision
from seetell.progress import SILENT, Progress
from seetell.runtime import Captioner, Model
from seetell.util import sample_evenly

Report = dict[str, Any]
"""The outcome for one head: `metrics`, `protocol`, `images`, `unreadable`, and `notes` for captions."""

DEFAULTS = EvaluationOptions()


def evaluate_bundle(
    model: Model,
    dataset: Dataset,
    split: str,
    options: EvaluationOptions = DEFAULTS,
    *,
    progress: Progress = SILENT,
) -> dict[str, Report]:
    """Score every head of a model for which the split has captions or labels.

    Args:
        model: an open model.
        dataset: as `seetell.open_dataset` returns it.
        split: which of its splits.
        options: see `EvaluationOptions`.
        progress: reports how many images are done.

    Returns:
        A report by kind of head.
    """
    reports: dict[str, Report] = {}
    captioned = sample_evenly([record for record in dataset.split(split) if record.captions], options.limit)
    labelled = sample_evenly([record for record in dataset.split(split) if record.labels], options.limit)
    if "captioner" in model.kinds and captioned:
        reports["captioner"] = evaluate_captioner(model, captioned, options, progress=progress)
    if "tagger" in model.kinds and labelled:
        reports["tagger"] = evaluate_tagger(model, labelled, progress=progress)
    if "retriever" in model.kinds and captioned:
        reports["retriever"] = evaluate_retriever(model, captioned, options, progress=progress)
    if not reports:
        raise DatasetError(
            f"the split {split!r} has nothing that a {' or a '.join(model.kinds)} can be compared with",
            where=dataset.name,
            remedy="Inspect it with: seetell check",
        )
    return reports


def evaluate_captioner(
    model: Model,
    records: Sequence[Record],
    options: EvaluationOptions = DEFAULTS,
    *,
    progress: Progress = SILENT,
) -> Report:
    """Caption every image, and compare with its reference captions."""
    captioner = model.captioner
    results = captioner(
        [record.image for record in records],
        beam=options.beam,
        alpha=options.length,
        rerank_weight=options.rerank_weight,
        progress=progress,
    )
    good = _readable(list(results), records)
    captions = [" ".join(result.best.words) for result, _ in good]
    scored = score_captions(captions, [record.captions for _, record in good], meteor=options.meteor)
    metrics = dict(scored.metrics)
    if captioner.uncertain_below is not None and good[0][0].best.similarity is not None:
        metrics["uncertain"] = 100 * sum(result.best.uncertain for result, _ in good) / len(good)
    report = _report(metrics, _caption_protocol(captioner, options), len(good), len(records))
    return {**report, "notes": list(scored.notes)}


def evaluate_tagger(model: Model, records: Sequence[Record], *, progress: Progress = SILENT) -> Report:
    """Tag every image, and compare with its labels; labels that the tagger does not know count as missed."""
    tagger = model.tagger
    results = list(tagger([record.image for record in records], progress=progress))
    labels = list(dict.fromkeys((*tagger.labels, *sorted({label for each in records for label in each.labels}))))
    column = {label: index for index, label in enumerate(labels)}
    good = _readable(results, records)
    truth = np.zeros((len(good), len(labels)), dtype=bool)
    predicted, confidences = truth.copy(), np.zeros(truth.shape)
    for row, (result, record) in enumerate(good):
        truth[row, [column[label] for label in record.labels]] = True
        predicted[row, [column[label] for label in result.labels]] = True
        confidences[row, [column[tag.label] for tag in result.tags]] = [tag.confidence for tag in result.tags]
        if result.scores is not None:
            confidences[row, : len(tagger.labels)] = result.scores
    if any(result.scores is None for result, _ in good):
        metrics = {**label_scores(truth, predicted), "map": mean_average_precision(truth, confidences)}
    else:
        metrics = label_scores(truth, predicted, confidences)
    return _report(metrics, "the model's own selection of labels", len(good), len(records))


def evaluate_retriever(
    model: Model,
    records: Sequence[Record],
    options: EvaluationOptions = DEFAULTS,
    *,
    progress: Progress = SILENT,
) -> Report:
    """Retrieve images by captions, and captions by images."""
    retriever = model.retriever
    results = list(retriever.images([record.image for record in records], progress=progress))
    good = _readable(results, records)
    captions = [caption for _, record in good for caption in record.captions]
    owners = np.repeat(np.arange(len(good)), [len(record.captions) for _, record in good])
    scores = retrieval_scores(
        np.stack([result.vector for result, _ in good]),
        retriever.embed_texts(captions),
        owners,
        similarity=retriever.similarity,
        folds=options.folds,
    )
    return _report(scores.as_dict(), scores.protocol, len(good), len(records))


def _caption_protocol(captioner: Captioner, options: EvaluationOptions) -> str:
    decoding = captioner.decoding
    alpha = decoding.alpha if options.length is None else options.length
    parts = [f"beam {options.beam or decoding.beam}", f"length exponent {alpha:g}"]
    parts.append(f"at most {decoding.maximum_length} words")
    if decoding.block_ngrams:
        parts.append(f"no repeated {decoding.block_ngrams}-grams")
    weight = captioner.rerank_weight if options.rerank_weight is None else options.rerank_weight
    if weight:
        parts.append(f"re-ranked by similarity with weight {weight:g}")
        if captioner.retry_below is not None:
            parts.append(f"retried below a similarity of {captioner.retry_below:g}")
    return f"{', '.join(parts)}; PTB tokenizer"


def _readable(results: Sequence[Any], records: Sequence[Record]) -> list[tuple[Any, Record]]:
    good = [(result, record) for result, record in zip(results, records, strict=True) if result.error is None]
    if not good:
        raise DatasetError("no image of this split can be read", remedy="Inspect it with: seetell check")
    return good


def _report(metrics: dict[str, Any], protocol: str, images: int, asked: int) -> Report:
    return {"metrics": metrics, "protocol": protocol, "images": images, "unreadable": asked - images}
