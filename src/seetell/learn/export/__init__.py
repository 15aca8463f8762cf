"""From checkpoints to a bundle: graphs made, compared with the checkpoints on real inputs, and only then written."""

import dataclasses
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from seetell import __version__
from seetell.bundle import Bundle, EncoderPart, Layout, Manifest, RetryPart, Score, write_bundle
from seetell.bundle.folder import check_target
from seetell.bundle.manifest import check_name
from seetell.errors import SeetellError
from seetell.learn.encoders.engines import Reading
from seetell.learn.export.compare import UnequalError, compare
from seetell.learn.export.graphs import to_onnx
from seetell.learn.export.heads import make_head
from seetell.learn.export.kept import Kept, kept_of, like
from seetell.learn.export.quantize import SMALLER, quantize_graph
from seetell.learn.export.trained import Trained, check_shared, open_runs, plain_numbers
from seetell.learn.export.words import USUAL, fitting_words
from seetell.runtime import ImageLike, Model

__all__ = ["SMALLER", "USUAL", "Loss", "ModelInfo", "Trained", "UnequalError", "export", "like", "open_runs"]

Measure = Callable[[Model], Mapping[str, Mapping[str, Any]]]
"""What a model reaches: for each head {"metrics", "protocol", "images"}."""


@dataclass(frozen=True)
class ModelInfo:
    """What people should know of a bundle."""

    name: str
    about: str = ""
    licence: str = "not stated"
    training_data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loss:
    """What a smaller bundle saves and costs: bytes, and metrics of each head before and after."""

    bytes_before: int
    bytes_after: int
    before: Mapping[str, Mapping[str, Any]]
    after: Mapping[str, Mapping[str, Any]]


def export(
    trained: Sequence[Trained],
    out: Path,
    description: ModelInfo,
    *,
    images: Sequence[ImageLike],
    texts: Sequence[str] = (),
    smaller: str = "",
    rerank_weight: float | None = None,
    uncertain_below: float | None = None,
    retry: tuple[float, Sequence[ImageLike]] | None = None,
    measure: tuple[Measure, str, str] | None = None,
    beside: Bundle | None = None,
    replace: bool = False,
    say: Callable[[str], object] = lambda line: None,
) -> tuple[Bundle, Loss | None]:
    """Make one bundle of one trained model, or of several that see with the same encoder.

    Args:
        images: real ones, on which bundle and checkpoints must agree before anything is written.
        texts: likewise.
        smaller: "fp16" or "int8" rounds the weights; what that costs is measured, and told in the result.
        rerank_weight: how much it counts, beside a caption's log-probability, that the retriever finds it to fit.
        uncertain_below: the fit below which a caption is called uncertain.
        retry: the fit below which an image is told again with words that fit it, and images of the training split,
            which show what fits usually.
        measure: scores a model, and the data and split it does so on: what the bundle then says it reaches. Needed
            with `smaller`.
        beside: a bundle with the same encoder, whose heads stay as they are where none of `trained` takes their place.
        replace: put it in the place of another bundle.
    """
    if smaller and smaller not in SMALLER:
        raise SeetellError(f"there is no {smaller!r} variant", remedy=f"Choose one of: {', '.join(SMALLER)}")
    if smaller and measure is None:
        raise SeetellError("what a smaller variant costs must be measured", remedy="Name a dataset with --data")
    check_name(description.name, str(out))
    check_target(out, replace=replace)
    check_shared(trained)
    kept = Kept() if beside is None else kept_of(beside, trained, smaller)
    if rerank_weight is not None and not {"captioner", "retriever"} <= {*kept.heads, *(one.kind for one in trained)}:
        raise SeetellError(
            "--rerank-weight needs a captioner and a retriever", remedy="Name runs of both, or leave it out"
        )
    if uncertain_below is not None and not rerank_weight:
        raise SeetellError("--uncertain-below needs --rerank-weight", remedy="Give both, or leave it out")
    if retry is not None and not rerank_weight:
        raise SeetellError("--retry-below needs --rerank-weight", remedy="Give both, or leave it out")
    manifest, files = _parts(trained, kept, description, say)
    if rerank_weight is not None and manifest.captioner is not None:
        chosen = msgspec.structs.replace(
            manifest.captioner, rerank_weight=rerank_weight, uncertain_below=uncertain_below
        )
        manifest = msgspec.structs.replace(manifest, captioner=chosen)
    with tempfile.TemporaryDirectory(prefix="seetell-export-") as folder:
        if retry is not None and manifest.captioner is not None:
            say("Looking for the words that fit images")
            with Model(write_bundle(Path(folder) / "before", manifest, {**kept.files, **files})) as model:
                files["captioner-words.onnx"] = fitting_words(model, retry[1])
            telling = msgspec.structs.replace(manifest.captioner, retry=RetryPart("captioner-words.onnx", retry[0]))
            manifest = msgspec.structs.replace(manifest, captioner=telling)
        say("Comparing with the checkpoints")
        with Model(write_bundle(Path(folder) / "whole", manifest, {**kept.files, **files})) as model:
            compare(model, trained, images, texts)
            before = _measured(model, measure, say)
        manifest = _scored(manifest, before, measure)
        if not smaller:
            return write_bundle(out, manifest, {**kept.files, **files}, replace=replace), None
        say(f"Rounding weights to {SMALLER[smaller]}")
        made = {n: quantize_graph(data, SMALLER[smaller]) if n.endswith(".onnx") else data for n, data in files.items()}
        small = {**kept.files, **made}
        manifest = msgspec.structs.replace(manifest, precision=SMALLER[smaller])
        with Model(write_bundle(Path(folder) / "small", manifest, small)) as model:
            after = _measured(model, measure, say)
    bundle = write_bundle(out, _scored(manifest, after, measure), small, replace=replace)
    return bundle, Loss(sum(map(len, {**kept.files, **files}.values())), bundle.size, before, after)


def _parts(
    trained: Sequence[Trained], kept: Kept, description: ModelInfo, say: Callable[[str], object]
) -> tuple[Manifest, dict[str, bytes]]:
    """The whole description, and the files that are made anew."""
    first = trained[0]
    own = (one.layout for one in trained)
    layouts = {**{spec.layout: Layout(spec.layout, spec.shape, spec.sections) for spec in own}, **kept.layouts}
    say(f"Exporting the encoder {first.encoder.name}")
    encoder = first.encoder.for_inference()
    size = first.preparation.size
    pixels = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))
    files = {
        "encoder.onnx": to_onnx(
            Reading(encoder.reader(list(layouts)), list(layouts)), {"pixels": pixels}, list(layouts)
        )
    }
    heads: dict[str, Any] = dict(kept.heads)
    for one in trained:
        say(f"Exporting the {one.kind} {one.name}")
        heads[one.kind], more = make_head(one)
        files |= more
    data = tuple(dict.fromkeys((*description.training_data, *kept.training_data)))
    manifest = Manifest(
        **dataclasses.asdict(dataclasses.replace(description, training_data=data)),
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


def _measured(model: Model, measure: tuple[Measure, str, str] | None, say: Callable[[str], object]) -> dict[str, Any]:
    if measure is None:
        return {}
    score, data, split = measure
    say(f"Measuring on {data}, split {split}")
    return {kind: {**report, "metrics": plain_numbers(report["metrics"])} for kind, report in score(model).items()}


def _scored(
    manifest: Manifest, reports: Mapping[str, Mapping[str, Any]], measure: tuple[Measure, str, str] | None
) -> Manifest:
    """The description with what the bundle itself reached, in the place of an earlier measurement."""
    heads: dict[str, Any] = {}
    for head in manifest.heads:
        if head.KIND in reports and measure is not None:
            report = reports[head.KIND]
            score = Score(*measure[1:], report["protocol"], report["images"], "bundle", report["metrics"])
            earlier = tuple(each for each in head.scores if each.measured_on != "bundle")
            heads[head.KIND] = msgspec.structs.replace(head, scores=(*earlier, score))
    return msgspec.structs.replace(manifest, **heads)
