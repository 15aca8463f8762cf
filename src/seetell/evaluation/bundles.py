"""A split of a dataset through the heads of a bundle, to scores: a checkpoint's own metrics, without PyTorch."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from seetell.data import Dataset, Record
from seetell.errors import DatasetError
from seetell.metrics import retrieval_scores
from seetell.metrics.captions.scores import score_captions
from seetell.metrics.labels import label_scores, mean_average_precision
from seetell.progress import SILENT, Progress
from seetell.runtime import Model

Report = dict[str, Any]  # {"metrics", "protocol", "images", "unreadable"}


def evaluate_bundle(
    model: Model,
    dataset: Dataset,
    split: str,
    *,
    folds: int = 1,
    beam: int | None = None,
    rerank_weight: float | None = None,
    limit: int | None = None,
    meteor: bool | Literal["auto"] = "auto",
    progress: Progress = SILENT,
) -> dict[str, Report]:
    """A report for each head that the split has something to compare with.

    Args:
        folds: retrieval: cut the split into so many parts and average over them.
        beam: captions: how many beams, and
        rerank_weight: how much it counts that they fit the image; as the bundle says unless told.
        limit: only so many images, evenly spread.
        meteor: see `score_captions`.
    """
    reports: dict[str, Report] = {}
    captioned = spread([record for record in dataset.split(split) if record.captions], limit)
    labelled = spread([record for record in dataset.split(split) if record.labels], limit)
    if "captioner" in model.kinds and captioned:
        reports["captioner"] = evaluate_captioner(
            model, captioned, beam=beam, rerank_weight=rerank_weight, meteor=meteor, progress=progress
        )
    if "tagger" in model.kinds and labelled:
        reports["tagger"] = evaluate_tagger(model, labelled, progress=progress)
    if "retriever" in model.kinds and captioned:
        reports["retriever"] = evaluate_retriever(model, captioned, folds=folds, progress=progress)
    if not reports:
        raise DatasetError(
            f"the split {split!r} has nothing that a {' or a '.join(model.kinds)} can be compared with",
            where=dataset.name,
            remedy="Look at it with: seetell check",
        )
    return reports


def evaluate_captioner(
    model: Model,
    records: Sequence[Record],
    *,
    beam: int | None = None,
    rerank_weight: float | None = None,
    meteor: bool | Literal["auto"] = "auto",
    progress: Progress = SILENT,
) -> Report:
    """Tell every image, and compare with the captions people wrote."""
    images = [record.image for record in records]
    results = list(model.captioner(images, beam=beam, rerank_weight=rerank_weight, progress=progress))
    good = _readable(results, records)
    told = [" ".join(result.best.words) for result, _ in good]
    scored = score_captions(told, [record.captions for _, record in good], meteor=meteor)
    metrics = dict(scored.metrics)
    if (
        np.isfinite(model.captioner.uncertain_below) and good[0][0].best.similarity is not None
    ):  # nothing else can be doubted
        metrics["uncertain"] = 100 * sum(result.best.uncertain for result, _ in good) / len(good)
    how = model.captioner.decoding
    weight = model.captioner.rerank_weight if rerank_weight is None else rerank_weight
    matched = f", fit with the image counting {weight:g}" if weight else ""
    if weight and np.isfinite(model.captioner.retry_below):
        matched += f", told again below a fit of {model.captioner.retry_below:g}"
    blocked = f", no {how.block_ngrams}-gram twice" if how.block_ngrams else ""
    protocol = (
        f"beam {beam or how.beam}, length exponent {how.alpha:g}, {how.maximum_length} words at most"
        f"{blocked}{matched}; PTB tokenizer"
    )
    return {**_report(metrics, protocol, len(good), len(records)), "notes": list(scored.notes)}


def evaluate_tagger(model: Model, records: Sequence[Record], *, progress: Progress = SILENT) -> Report:
    """Tag every image, and compare with its labels; labels that the tagger does not know count as missed."""
    tagger = model.tagger
    results = list(model.tagger([record.image for record in records], progress=progress))
    labels = list(dict.fromkeys((*tagger.labels, *sorted({label for each in records for label in each.labels}))))
    column = {label: place for place, label in enumerate(labels)}
    good = _readable(results, records)
    truth = np.zeros((len(good), len(labels)), dtype=bool)
    chosen, sure = truth.copy(), np.zeros(truth.shape)
    for row, (result, record) in enumerate(good):
        truth[row, [column[label] for label in record.labels]] = True
        chosen[row, [column[label] for label in result.labels]] = True
        sure[row, [column[tag.label] for tag in result.tags]] = [tag.confidence for tag in result.tags]
        if result.scores is not None:
            sure[row, : len(tagger.labels)] = result.scores
    if any(result.scores is None for result, _ in good):
        metrics = {**label_scores(truth, chosen), "map": mean_average_precision(truth, sure)}
    else:
        metrics = label_scores(truth, chosen, sure)
    return _report(metrics, "the labels that the bundle itself chooses", len(good), len(records))


def evaluate_retriever(
    model: Model, records: Sequence[Record], *, folds: int = 1, progress: Progress = SILENT
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
        folds=folds,
    )
    return _report(scores.as_dict(), scores.protocol, len(good), len(records))


def _readable(results: Sequence[Any], records: Sequence[Record]) -> list[tuple[Any, Record]]:
    good = [(result, record) for result, record in zip(results, records, strict=True) if result.error is None]
    if not good:
        raise DatasetError("no image of this split can be read", remedy="Look at it with: seetell check")
    return good


def _report(metrics: dict[str, Any], protocol: str, images: int, asked: int) -> Report:
    return {"metrics": metrics, "protocol": protocol, "images": images, "unreadable": asked - images}


def spread(records: Sequence[Record], limit: int | None) -> Sequence[Record]:
    """So many of the records, evenly spread; all if there are no more, or without a limit."""
    if limit is None or len(records) <= limit:
        return records
    places = np.unique(np.linspace(0, len(records) - 1, limit).round().astype(int))
    return [records[place] for place in places]
