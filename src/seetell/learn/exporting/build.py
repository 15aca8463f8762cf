"""From trained models to a bundle: it is compared with the checkpoints on real inputs before it is written."""

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch

from seetell import __version__
from seetell.bundle import EncoderPart, Layout, Manifest, RetryPart, Score, write_bundle
from seetell.bundle.folder import check_target
from seetell.bundle.manifest import check_name
from seetell.errors import SeetellError
from seetell.learn.encoders.engines import LayoutOutputs
from seetell.learn.exporting.base import BaseHeads, heads_to_keep
from seetell.learn.exporting.compare import compare
from seetell.learn.exporting.heads import make_head
from seetell.learn.exporting.options import Exported, ExportOptions, Measurement, ModelInfo, QuantizationCost, Samples
from seetell.learn.exporting.quantize import quantize_graph
from seetell.learn.exporting.trained import Trained, check_compatible, plain_numbers
from seetell.learn.exporting.words import similar_words
from seetell.learn.onnx_graphs import to_onnx
from seetell.progress import SILENT, Progress
from seetell.runtime import Model

Files = dict[str, bytes]


def build_bundle(
    trained: Sequence[Trained],
    out: Path,
    info: ModelInfo,
    samples: Samples,
    options: ExportOptions = ExportOptions(),  # noqa: B008
    *,
    measurement: Measurement | None = None,
    progress: Progress = SILENT,
) -> Exported:
    """Make one bundle of one trained model, or of several that share an encoder.

    Args:
        samples: real inputs, on which the bundle and the checkpoints must agree.
        measurement: how to score the bundle; needed with `options.quantize`.
    """
    _check(trained, out, info, options, measurement)
    kept = BaseHeads() if options.base is None else heads_to_keep(options.base, trained, options.quantize)
    _check_heads(trained, kept, options)
    manifest, files = _parts(trained, kept, info, progress)
    manifest = _with_reranking(manifest, options)
    with tempfile.TemporaryDirectory(prefix="seetell-export-") as temporary:
        folder = Path(temporary)
        if options.retry_below is not None:
            manifest, files = _with_retry(manifest, files, kept, options.retry_below, samples, folder, progress)
        whole = {**kept.files, **files}
        progress.message("Comparing with the checkpoints")
        with Model(write_bundle(folder / "whole", manifest, whole)) as model:
            compare(model, trained, samples.images, samples.texts)
            before = _measure(model, measurement, progress)
        manifest = _with_scores(manifest, before, measurement)
        if options.quantize is None:
            return Exported(write_bundle(out, manifest, whole, replace=options.replace))
        progress.message(f"Quantizing weights to {options.quantize}")
        small = {**kept.files, **_quantized(files, options.quantize)}
        manifest = msgspec.structs.replace(manifest, precision=options.quantize)
        with Model(write_bundle(folder / "quantized", manifest, small)) as model:
            after = _measure(model, measurement, progress)
    bundle = write_bundle(out, _with_scores(manifest, after, measurement), small, replace=options.replace)
    return Exported(bundle, QuantizationCost(sum(map(len, whole.values())), bundle.size, before, after))


def _check(
    trained: Sequence[Trained], out: Path, info: ModelInfo, options: ExportOptions, measurement: Measurement | None
) -> None:
    """Refuse what cannot be exported, before anything is made."""
    options.check()
    if options.quantize is not None and measurement is None:
        raise SeetellError("the effect of quantization must be measured", remedy="Name a dataset with --data")
    check_name(info.name, str(out))
    check_target(out, replace=options.replace)
    check_compatible(trained)


def _check_heads(trained: Sequence[Trained], kept: BaseHeads, options: ExportOptions) -> None:
    kinds = {*kept.heads, *(each.kind for each in trained)}
    if options.rerank_weight is not None and not {"captioner", "retriever"} <= kinds:
        raise SeetellError(
            "--rerank-weight needs a captioner and a retriever", remedy="Name runs of both, or leave it out"
        )


def _parts(trained: Sequence[Trained], kept: BaseHeads, info: ModelInfo, progress: Progress) -> tuple[Manifest, Files]:
    """The whole manifest, and the files that are new."""
    first = trained[0]
    own = (each.layout for each in trained)
    layouts = {**{spec.layout: Layout(spec.layout, spec.shape, spec.sections) for spec in own}, **kept.layouts}
    progress.message(f"Exporting the encoder {first.encoder.name}")
    reader = LayoutOutputs(first.encoder.for_inference().reader(list(layouts)), list(layouts))
    size = first.preparation.size
    pixels = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))
    files = {"encoder.onnx": to_onnx(reader, {"pixels": pixels}, list(layouts))}
    heads: dict[str, Any] = dict(kept.heads)
    for each in trained:
        progress.message(f"Exporting the {each.kind} {each.name}")
        heads[each.kind], more = make_head(each)
        files |= more
    data = tuple(dict.fromkeys((*info.training_data, *kept.training_data)))
    manifest = Manifest(
        **dataclasses.asdict(dataclasses.replace(info, training_data=data)),
        made_by=f"seetell {__version__}",
        precision="float32",
        encoder=EncoderPart(
            name=str(first.encoder.name),
            fingerprint=first.encoder.fingerprint(),
            graph="encoder.onnx",
            preparation=first.preparation,
            layouts=tuple(layouts.values()),
        ),
        **heads,
    )
    return manifest, files


def _with_reranking(manifest: Manifest, options: ExportOptions) -> Manifest:
    if options.rerank_weight is None or manifest.captioner is None:
        return manifest
    captioner = msgspec.structs.replace(
        manifest.captioner, rerank_weight=options.rerank_weight, uncertain_below=options.uncertain_below
    )
    return msgspec.structs.replace(manifest, captioner=captioner)


def _with_retry(
    manifest: Manifest,
    files: Files,
    kept: BaseHeads,
    below: float,
    samples: Samples,
    folder: Path,
    progress: Progress,
) -> tuple[Manifest, Files]:
    """The manifest and the files with the graph of the words that are most similar to an image."""
    assert manifest.captioner is not None
    progress.message("Embedding the captioner's words")
    with Model(write_bundle(folder / "before", manifest, {**kept.files, **files})) as model:
        graph = similar_words(model, samples.typical)
    captioner = msgspec.structs.replace(manifest.captioner, retry=RetryPart("captioner-words.onnx", below))
    return msgspec.structs.replace(manifest, captioner=captioner), {**files, "captioner-words.onnx": graph}


def _quantized(files: Files, precision: str) -> Files:
    return {name: quantize_graph(data, precision) if name.endswith(".onnx") else data for name, data in files.items()}


def _measure(model: Model, measurement: Measurement | None, progress: Progress) -> dict[str, Any]:
    if measurement is None:
        return {}
    progress.message(f"Measuring on {measurement.data}, split {measurement.split}")
    reports = measurement.score(model)
    return {kind: {**report, "metrics": plain_numbers(report["metrics"])} for kind, report in reports.items()}


def _with_scores(
    manifest: Manifest, reports: Mapping[str, Mapping[str, Any]], measurement: Measurement | None
) -> Manifest:
    """The manifest with the scores of the bundle itself, in place of an earlier measurement."""
    heads: dict[str, Any] = {}
    for head in manifest.heads:
        if head.KIND in reports and measurement is not None:
            report = reports[head.KIND]
            score = Score(
                measurement.data, measurement.split, report["protocol"], report["images"], "bundle", report["metrics"]
            )
            earlier = tuple(each for each in head.scores if each.measured_on != "bundle")
            heads[head.KIND] = msgspec.structs.replace(head, scores=(*earlier, score))
    return msgspec.structs.replace(manifest, **heads)
