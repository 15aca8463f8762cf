"""The built-in model: training its stages, packing them into one bundle, measuring it."""

import dataclasses
import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from seetell.bundle import Bundle, Score, write_bundle
from seetell.data import Record
from seetell.evaluation import EvaluationOptions, evaluate_bundle
from seetell.learn.encoders import Encoder, encode_dataset
from seetell.learn.exporting import ExportOptions, Measurement, ModelInfo, Samples, Trained, build_bundle, open_runs
from seetell.learn.exporting.trained import plain_numbers
from seetell.learn.exporting.words import TYPICAL
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.training.checkpoints import read_json, write_json
from seetell.learn.training.features import SPLITS, open_data
from seetell.learn.training.run import Run
from seetell.learn.training.train import train
from seetell.progress import Progress
from seetell.runtime import Model, open_model
from seetell.util import sample_evenly

HEADS = {"captions": "captioner", "tags": "tagger", "retrieval": "retriever"}  # stages that are shipped
COMPARED = 16  # images on which bundle and checkpoints must agree
EXPORT_SETTINGS = ("rerank_weight", "uncertain_below", "retry_below")  # settings of the plan that the bundle stores


def train_all(
    plan: Mapping[str, Any],
    folder: Path,
    data: Mapping[str, str],
    runs: Path,
    store: Path | None,
    kept: Sequence[str],
    progress: Progress,
) -> None:
    """Train every stage that is not finished; features first, as many as one pass through the network can give.

    Args:
        folder: the plan's folder, where its own recipes are.
        kept: stages that are not trained.
    """
    todo: list[tuple[Path, Recipe, list[str]]] = []
    for stage in plan["stages"]:
        if stage["name"].partition("-")[0] in kept:
            continue
        run = runs / stage["name"]
        if (run / "last.json").exists() and Run.open(run).finished:
            progress.message(f"{stage['name']}: finished, {run}")
            continue
        settings = [each.format(runs=runs) for each in stage["set"]]
        own = folder / stage["recipe"]
        recipe = load_recipe(own if own.is_file() else stage["recipe"], dataset=stage["dataset"], settings=settings)
        todo.append((run, recipe, [data[name] for name in stage["data"]]))
    for spec in dict.fromkeys(spec for _, _, used in todo for spec in used):
        make_features(spec, [recipe for _, recipe, used in todo if spec in used], store, progress)
    for run, recipe, used in todo:
        progress.message(f"{recipe.name}: {run}")
        resume = (run / "run.json").exists()
        train(recipe, used, run, resume=resume, store=store, progress=progress)


def make_features(spec: str, recipes: Sequence[Recipe], store: Path | None, progress: Progress) -> None:
    """Encode a dataset for recipes; those with the same preprocessing share one pass."""
    together: dict[tuple[str, str, int], list[str]] = {}
    for settings in (recipe.encoder for recipe in recipes):
        if settings.crops == 1:  # the others are encoded when they are trained
            together.setdefault((settings.name, settings.view, settings.size), []).append(settings.layout)
    records: list[Record] = [record for record in open_data([spec]).records if record.split in SPLITS]
    for (name, view, size), layouts in together.items():
        encoder = Encoder.load(name)
        preparation = encoder.preparation("centre", view=view, size=size)
        encode_dataset(records, encoder, layouts, root=store, preparation=preparation, progress=progress)


def pack(
    plan: Mapping[str, Any],
    data: Mapping[str, str],
    runs: Sequence[Path],
    work: Path,
    base: Bundle | None,
    progress: Progress,
) -> Bundle:
    """The runs as one bundle; an earlier one with the same weights and settings is reused.

    Args:
        base: a bundle whose other heads are kept.
    """
    out = work / "bundles" / f"{_key(plan, runs, base)}-{plan['quantize'] or 'float32'}" / plan["name"]
    if (out / "bundle.json").exists():
        return Bundle.open(out)
    began = time.monotonic()
    dataset = open_data([data["flickr8k"], data["coco-labels"]])
    compared = sample_evenly(dataset.split("val"), COMPARED)
    typical = sample_evenly(open_data([data["flickr8k"], data["coco-captions"]]).split("train"), TYPICAL)

    def score(model: Model) -> dict[str, Any]:
        options = EvaluationOptions(limit=plan["measured"], meteor=False)
        return evaluate_bundle(model, dataset, "val", options, progress=progress)

    exported = build_bundle(
        [without_paths(one) for one in open_runs(runs)],
        out,
        ModelInfo(plan["name"], plan["about"], plan["licence"], tuple(public(data[name]) for name in plan["tested"])),
        Samples(
            images=[record.image for record in compared],
            texts=[caption for record in compared for caption in record.captions[:1]],
            typical=[record.image for record in typical],
        ),
        ExportOptions(
            quantize=plan["quantize"] or None,
            rerank_weight=plan.get("rerank_weight"),
            uncertain_below=plan.get("uncertain_below"),
            retry_below=plan.get("retry_below"),
            base=base,
        ),
        measurement=Measurement(score, "flickr8k, coco-labels", "val"),
        progress=progress,
    )
    cost = dataclasses.asdict(exported.quantization) if exported.quantization is not None else {}
    write_json(out.parent / "export.json", {"seconds": round(time.monotonic() - began, 1), **cost})
    return exported.bundle


def _key(plan: Mapping[str, Any], runs: Sequence[Path], base: Bundle | None) -> str:
    """A hash of the weights and settings that a bundle is made of."""
    weights = [next((run / "best").glob("*/model.safetensors")) for run in runs]
    parts = [*(each.read_bytes() for each in weights), str([plan.get(key) for key in EXPORT_SETTINGS]).encode()]
    parts += [base.fingerprint.encode()] if base is not None else []
    return hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in parts)).hexdigest()[:16]


def without_paths(trained: Trained) -> Trained:
    """A trained model whose scores contain no paths of the machine that trained it."""
    scores = tuple(msgspec.structs.replace(each, data=", ".join(map(public, trained.data))) for each in trained.scores)
    return dataclasses.replace(trained, scores=scores)


def public(spec: str) -> str:
    """The address of a dataset below DATA instead of a folder of this machine."""
    kind, _, rest = spec.partition(":")
    if kind == "scenes":
        return spec
    path, _, parameters = rest.partition("?")
    kept = [part for part in parameters.split("&") if part and not part.startswith("images=")]
    images = ["images=DATA/coco/train2017"] if "images=" in parameters else []
    location = "DATA/" + ("" if kind != "table" else "coco/") + Path(path).name
    return "?".join(filter(None, (f"{kind}:{location}", "&".join([*images, *kept]))))


def measure(bundle: Bundle, spec: str, work: Path, progress: Progress) -> dict[str, Any]:
    """The bundle's scores on a test split, one report per head, and the time it took; measured once."""
    key = hashlib.sha256(spec.encode()).hexdigest()[:8]
    path = work / "scores" / f"{bundle.fingerprint[:16]}-{key}.json"
    if not path.exists():
        progress.message(f"Measuring on {spec}, split test")
        began = time.monotonic()
        with open_model(bundle.path) as model:
            reports = evaluate_bundle(model, open_data([spec]), "test", progress=progress)
        path.parent.mkdir(parents=True, exist_ok=True)
        seconds = round(time.monotonic() - began, 1)
        write_json(path, {"data": public(spec), "seconds": seconds, "reports": reports})
    found: dict[str, Any] = read_json(path)
    return found


def ship(bundle: Bundle, scores: Mapping[str, Mapping[str, Any]], out: Path) -> Bundle:
    """Write the bundle to its final folder, with its test scores."""
    heads: dict[str, Any] = {}
    for head in bundle.manifest.heads:
        measured = tuple(
            Score(
                each["data"], "test", report["protocol"], report["images"], "bundle", plain_numbers(report["metrics"])
            )
            for each in scores.values()
            if (report := each["reports"].get(head.KIND)) is not None
        )
        heads[head.KIND] = msgspec.structs.replace(head, scores=(*head.scores, *measured))
    manifest = msgspec.structs.replace(bundle.manifest, **heads)
    files = {name: bundle.read(name) for name in bundle.manifest.files}
    return write_bundle(out, manifest, files, replace=(out / "bundle.json").exists())
