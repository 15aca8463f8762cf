"""The built-in model from its data: features, three runs, one bundle, its scores, its card.

    make builtin DATA=folder [IMAGES=folder] [LIMIT=2000] [OUT=folder] [RUNS=folder] [KEEP=tags,retrieval]

DATA holds `flickr8k`, and in `coco` the tables `labels.tsv` and `captions.jsonl`; COCO's images are in
`coco/train2017` unless --images says where. What is trained stands in `builtin.toml`. Stopped at any moment, it goes
on where it was; a run that is finished is used as it is. The bundle goes into the package and the page of its scores
into docs/results; with a limit (so many images of each split of each dataset) both go into the work folder. At the
end it prints a hash of every file: two builds on one machine can be compared. With --keep, heads of the bundle that is
in the package stay as they are, beside new ones.
"""

import argparse
import dataclasses
import hashlib
import json
import re
import shlex
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from seetell.learn.reproduction.page import Command, Heading, Page, Paragraph, Table, markdown

from seetell.bundle import Bundle, Score, write_bundle
from seetell.data import Record
from seetell.errors import SeetellError
from seetell.evaluation import EvaluationOptions, evaluate_bundle
from seetell.figures.sheet import Cell, contact_sheet, save_image
from seetell.files import write_file
from seetell.learn.encoders import Encoder, encode_dataset
from seetell.learn.exporting import ExportOptions, Measurement, ModelInfo, Samples, Trained, build_bundle, open_runs
from seetell.learn.exporting.trained import plain_numbers
from seetell.learn.exporting.words import TYPICAL
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.reproduction.records import made_by
from seetell.learn.training.checkpoints import read_json, write_json
from seetell.learn.training.features import SPLITS, open_data
from seetell.learn.training.run import Run
from seetell.learn.training.train import train
from seetell.metrics.flatten import flatten_metrics
from seetell.progress import for_terminal
from seetell.runtime import Model, open_model
from seetell.settings import plain
from seetell.util import sample_evenly

ROOT = Path(__file__).resolve().parent.parent
HEADS = {"captions": "captioner", "tags": "tagger", "retrieval": "retriever"}  # stages that are shipped
COMPARED = 16  # images on which bundle and checkpoints must agree
CHOSEN = ("rerank_weight", "uncertain_below", "retry_below")  # settings of the plan that the bundle says
BUILT_IN = re.compile(r"(<!-- builtin:begin -->\n).*(<!-- builtin:end -->)", re.DOTALL)
CARD, FAILURES = "MODEL_CARD.md", "failures.png"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--images", type=Path, help="where COCO's images are")
    parser.add_argument("--limit", type=int, default=0, help="so many images of each split, for a quick trial")
    parser.add_argument("--work", type=Path, help="where runs and measurements are kept")
    parser.add_argument("--runs", type=Path, help="where runs are kept, if not in the work folder")
    parser.add_argument("--no-training", action="store_true", help="use the runs as they are, finished or not")
    parser.add_argument("--store", type=Path, help="where features are kept")
    parser.add_argument("--out", type=Path, help="the bundle's folder")
    parser.add_argument("--keep", default="", help="heads that stay as they are, separated by commas: tags,retrieval")
    parser.add_argument("--plan", type=Path, default=ROOT / "tools" / "builtin.toml")
    given = parser.parse_args(arguments)
    plan = tomllib.loads(given.plan.read_text(encoding="utf-8"))
    if given.limit:
        plan["remarks"] = ""  # they are about the whole
    work = given.work or ROOT / "build" / ("builtin" + (f"-{given.limit}" if given.limit else ""))
    runs = given.runs or work / "runs"
    data = specs(plan, given.data, given.images or given.data / "coco" / "train2017", given.limit)
    shipped = ROOT / "src" / "seetell" / "builtin" / plan["name"]
    out = given.out or (work / plan["name"] if given.limit else shipped)
    kept = [name.strip() for name in given.keep.split(",") if name.strip()]
    commit = made_by().get("commit", "")  # before the bundle is written, which would count as a change
    try:
        if not given.no_training:
            train_all(plan, given.plan.parent, data, runs, given.store, kept)
        heads = [runs / head for head in HEADS if head not in kept]
        made = pack(plan, data, heads, work, Bundle.open(shipped) if kept else None)
        before = {name: said_before(shipped / CARD, f"- **{name}**") for name in kept}
        scores = {name: measure(made, data[name], work) for name in plan["tested"]}
        bundle = ship(made, scores, out)
        say(f"{out}: {bundle.size / 1e6:.1f} MB")
        write_file(out / CARD, card(plan, bundle, heads, scores, out, commit, before.values()))
        page, there = (work if given.limit else ROOT / "docs" / "results"), ROOT / "docs" / "results" / "builtin.md"
        rows = [said_before(there, f"| {name} |").strip("| ").split(" | ") for name in kept]
        write_file(page / "builtin.md", results(plan, bundle, heads, scores, work, rows).markdown())
        say(f"{page / 'builtin.md'}")
        if not given.limit:
            fill_readme(ROOT / "README.md", beside_published(plan, scores))
    except SeetellError as error:
        sys.exit(f"builtin: {error}")
    for file in sorted(path for path in out.iterdir() if path.is_file()):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def specs(plan: Mapping[str, Any], data: Path, images: Path, limit: int) -> dict[str, str]:
    """The datasets by the names that the plan gives them."""
    found = {name: spec.format(data=data, images=images) for name, spec in plan["data"].items()}
    if not limit:
        return found
    return {name: f"{spec}{'&' if '?' in spec else '?'}limit={limit}" for name, spec in found.items()}


# Training


def said_before(path: Path, start: str) -> str:
    """The line of a page that begins so."""
    found = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(start)]
    if not found:
        raise SeetellError(f"no line begins with {start!r}", where=str(path), remedy="Make this head anew, too")
    return found[-1]


def train_all(
    plan: Mapping[str, Any],
    where: Path,
    data: Mapping[str, str],
    runs: Path,
    store: Path | None,
    kept: Sequence[str] = (),
) -> None:
    """Every stage that is not finished, features first: all that one pass through the network can give at once."""
    todo: list[tuple[Path, Recipe, list[str]]] = []
    for stage in plan["stages"]:
        if stage["name"].partition("-")[0] in kept:
            continue
        folder = runs / stage["name"]
        if (folder / "last.json").exists() and Run.open(folder).finished:
            say(f"{stage['name']}: finished, {folder}")
            continue
        settings = [each.format(runs=runs) for each in stage["set"]]
        beside = where / stage["recipe"]
        name = beside if beside.is_file() else stage["recipe"]
        recipe = load_recipe(name, dataset=stage["dataset"], settings=settings)
        todo.append((folder, recipe, [data[name] for name in stage["data"]]))
    for spec in dict.fromkeys(spec for _, _, used in todo for spec in used):
        make_features(spec, [recipe for _, recipe, used in todo if spec in used], store)
    for folder, recipe, used in todo:
        say(f"{recipe.name}: {folder}")
        resume = (folder / "run.json").exists()
        train(recipe, used, folder, resume=resume, store=store, progress=for_terminal())


def make_features(spec: str, recipes: Sequence[Recipe], store: Path | None) -> None:
    """What recipes read of a dataset; recipes that see images in the same way share a pass."""
    together: dict[tuple[str, str, int], list[str]] = {}
    for settings in (recipe.encoder for recipe in recipes):
        if settings.crops == 1:  # the others make their own when they are trained
            together.setdefault((settings.name, settings.view, settings.size), []).append(settings.layout)
    records: list[Record] = [record for record in open_data([spec]).records if record.split in SPLITS]
    for (name, view, size), layouts in together.items():
        encoder = Encoder.load(name)
        seen = encoder.preparation("centre", view=view, size=size)
        encode_dataset(records, encoder, layouts, root=store, preparation=seen, progress=for_terminal())


# Packing


def pack(
    plan: Mapping[str, Any], data: Mapping[str, str], runs: Sequence[Path], work: Path, beside: Bundle | None = None
) -> Bundle:
    """The runs as one bundle; one that was made of the same weights in the same way before is kept."""
    weights = [next((run / "best").glob("*/model.safetensors")) for run in runs]
    made_of = [*(each.read_bytes() for each in weights), str([plan.get(key) for key in CHOSEN]).encode()]
    made_of += [beside.fingerprint.encode()] if beside is not None else []
    key = hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in made_of)).hexdigest()[:16]
    out = work / "bundles" / f"{key}-{plan['smaller'] or 'whole'}" / plan["name"]
    if (out / "bundle.json").exists():
        return Bundle.open(out)
    began = time.monotonic()
    dataset = open_data([data["flickr8k"], data["coco-labels"]])
    records = dataset.split("val")
    some = sample_evenly(records, COMPARED)
    usual = sample_evenly(open_data([data["flickr8k"], data["coco-captions"]]).split("train"), TYPICAL)

    def score(model: Model) -> dict[str, Any]:
        how = EvaluationOptions(limit=plan["measured"], meteor=False)
        return evaluate_bundle(model, dataset, "val", how, progress=for_terminal())

    trained = [without_paths(one) for one in open_runs(runs)]
    description = ModelInfo(
        plan["name"], plan["about"], plan["licence"], tuple(public(data[name]) for name in plan["tested"])
    )
    samples = Samples(
        images=[record.image for record in some],
        texts=[caption for record in some for caption in record.captions[:1]],
        typical=[record.image for record in usual],
    )
    options = ExportOptions(
        quantize=plan["smaller"] or None,
        rerank_weight=plan.get("rerank_weight"),
        uncertain_below=plan.get("uncertain_below"),
        retry_below=plan.get("retry_below"),
        base=beside,
    )
    measurement = Measurement(score, "flickr8k, coco-labels", "val")
    exported = build_bundle(
        trained, out, description, samples, options, measurement=measurement, progress=for_terminal()
    )
    bundle = exported.bundle
    cost = dataclasses.asdict(exported.quantization) if exported.quantization is not None else {}
    write_json(out.parent / "export.json", {"seconds": round(time.monotonic() - began, 1), **cost})
    return bundle


def without_paths(trained: Trained) -> Trained:
    """A model whose scores name no folder of the machine that trained it."""
    scores = tuple(msgspec.structs.replace(each, data=", ".join(map(public, trained.data))) for each in trained.scores)
    return dataclasses.replace(trained, scores=scores)


def public(spec: str) -> str:
    """A dataset without the folders of one machine."""
    kind, _, rest = spec.partition(":")
    if kind == "scenes":
        return spec
    path, _, parameters = rest.partition("?")
    kept = [part for part in parameters.split("&") if part and not part.startswith("images=")]
    images = ["images=DATA/coco/train2017"] if "images=" in parameters else []
    place = "DATA/" + ("" if kind != "table" else "coco/") + Path(path).name
    return "?".join(filter(None, (f"{kind}:{place}", "&".join([*images, *kept]))))


# Measuring


def measure(bundle: Bundle, spec: str, work: Path) -> dict[str, Any]:
    """What the bundle reaches on a test split: a report for each head, and how long it took; measured once."""
    key = hashlib.sha256(spec.encode()).hexdigest()[:8]
    kept = work / "scores" / f"{bundle.fingerprint[:16]}-{key}.json"
    if not kept.exists():
        say(f"Measuring on {spec}, split test")
        began = time.monotonic()
        with open_model(bundle.path) as model:
            reports = evaluate_bundle(model, open_data([spec]), "test", progress=for_terminal())
        kept.parent.mkdir(parents=True, exist_ok=True)
        seconds = round(time.monotonic() - began, 1)
        write_json(kept, {"data": public(spec), "seconds": seconds, "reports": reports})
    found: dict[str, Any] = read_json(kept)
    return found


def ship(bundle: Bundle, scores: Mapping[str, Mapping[str, Any]], out: Path) -> Bundle:
    """The bundle in its place, with what it reached on test splits."""
    heads: dict[str, Any] = {}
    for head in bundle.manifest.heads:
        reached = tuple(
            Score(
                each["data"], "test", report["protocol"], report["images"], "bundle", plain_numbers(report["metrics"])
            )
            for each in scores.values()
            if (report := each["reports"].get(head.KIND)) is not None
        )
        heads[head.KIND] = dataclasses.replace(head, scores=(*head.scores, *reached))
    manifest = dataclasses.replace(bundle.manifest, **heads)
    files = {name: bundle.read(name) for name in bundle.manifest.files}
    return write_bundle(out, manifest, files, replace=(out / "bundle.json").exists())


# Telling

SHOWN = {
    "captioner": ("bleu1", "bleu4", "meteor", "rouge_l", "cider", "uncertain"),
    "tagger": ("precision", "recall", "f1_of_means", "map"),
    "retriever": (
        *("image_to_text.r1", "image_to_text.r5", "image_to_text.r10"),
        *("text_to_image.r1", "text_to_image.r5", "text_to_image.r10", "sum_of_recalls"),
    ),
}


def score_blocks(plan: Mapping[str, Any], scores: Mapping[str, Mapping[str, Any]], *, times: bool) -> list[Any]:
    """For each dataset the command, and for each head the protocol and a table with what was asked for."""
    blocks: list[Any] = []
    for name, measured in scores.items():
        blocks.append(Heading(name, 3))
        blocks.append(Command(f"seetell evaluate builtin --data {shlex.quote(measured['data'])} --split test"))
        for kind, report in measured["reports"].items():
            blocks.append(Paragraph(f"{kind.capitalize()}: {report['images']:,} images; {report['protocol']}."))
            reached, bars = flatten_metrics(report["metrics"]), plan["bars"].get(name, {}).get(kind, {})
            rows = []
            for metric in SHOWN[kind]:
                if metric not in reached:
                    rows.append([metric, "not measured", str(bars.get(metric, "")), ""])
                    continue
                asked = bars.get(metric)
                apart = "" if asked is None else f"{reached[metric] - asked:+.1f}"
                rows.append([metric, f"{reached[metric]:.1f}", "" if asked is None else f"{asked}", apart])
            blocks.append(Table(["", "reached", "asked for", "difference"], rows))
        if times:
            blocks.append(Paragraph(f"Measured in {minutes(measured['seconds'])}."))
    return blocks


def beside_published(plan: Mapping[str, Any], scores: Mapping[str, Mapping[str, Any]]) -> Table:
    """What the bundle reaches, beside what the papers published."""
    rows = []
    for name, heads in plan["published"].items():
        for kind, metrics in heads.items():
            reached = flatten_metrics(scores[name]["reports"][kind]["metrics"])
            for metric, (value, whose) in metrics.items():
                told = f"{reached[metric]:.1f}" if metric in reached else "not measured"
                rows.append([f"{name}, {plan['called'][metric]}", told, f"{value}", whose])
    return Table(["test split", "built in", "published", "by"], rows)


def fill_readme(path: Path, table: Table) -> None:
    """The table, where the README has its place."""
    text = path.read_text(encoding="utf-8")
    told = markdown(table)
    write_file(path, BUILT_IN.sub(lambda found: f"{found[1]}{told}\n{found[2]}", text))


def results(
    plan: Mapping[str, Any],
    bundle: Bundle,
    runs: Sequence[Path],
    scores: Mapping[str, Any],
    work: Path,
    kept: Sequence[list[str]] = (),
) -> Page:
    """The page of docs/results; `kept` are rows on the training of heads that were made before."""
    exported = read_json(bundle_folder(bundle, work) / "export.json")
    page = Page("The built-in model")
    page.add(
        Command("make builtin DATA=folder"),
        Paragraph(
            f"{plan['about']} {bundle.size:,} bytes in {len(bundle.manifest.files)} files, weights as "
            f"{bundle.manifest.precision}, fingerprint `{bundle.fingerprint[:16]}`. Scores are those of the bundle "
            "itself, without PyTorch, on test splits that nothing was chosen on."
        ),
        *(Paragraph(each) for each in plan["remarks"].strip().split("\n\n") if each),
        Heading("Scores"),
        *score_blocks(plan, scores, times=True),
        Heading("Training"),
        Table(
            ["head", "recipe", "epochs", "best validation score", "time"],
            [*(training_row(Run.open(run)) for run in runs), *kept],
        ),
        Paragraph(f"Packed and compared with the checkpoints in {minutes(exported['seconds'])}."),
    )
    if "before" in exported:
        rows = [
            [f"{kind}: {metric}", f"{before:.2f}", f"{flatten_metrics(exported['after'][kind]['metrics'])[metric]:.2f}"]
            for kind, report in exported["before"].items()
            for metric, before in flatten_metrics(report["metrics"]).items()
            if metric in SHOWN[kind] and kind in [HEADS[run.name] for run in runs]
        ]
        before, after = exported["bytes_before"] / 1e6, exported["bytes_after"] / 1e6
        page.add(
            Heading("What rounding costs"),
            Paragraph(f"{before:.1f} MB became {after:.1f} MB; on {plan['measured']} images of the validation splits:"),
            Table(["", "float32", plan["smaller"]], rows),
        )
    return page


def bundle_folder(bundle: Bundle, work: Path) -> Path:
    """Where the bundle of these weights was packed."""
    return next(
        each.parent.parent
        for each in (work / "bundles").glob("*/*/bundle.json")
        if read_json(each)["fingerprint"] == bundle.fingerprint
    )


def training_row(run: Run) -> list[str]:
    history = run.history()
    best = max(record["score"] for record in history)
    seconds = sum(record["seconds"] for record in history)
    return [run.path.name, run.recipe.name, str(len(history)), f"{best:.2f}", minutes(seconds)]


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"


def card(
    plan: Mapping[str, Any],
    bundle: Bundle,
    runs: Sequence[Path],
    scores: Mapping[str, Any],
    out: Path,
    commit: str,
    kept: Iterable[str] = (),
) -> str:
    """The model card: the template, filled in. It holds nothing that differs between two builds of one commit.

    `kept` are lines on the training of heads that were made before.
    """
    manifest = bundle.manifest
    training = []
    for run in map(Run.open, runs):
        recipe = run.recipe
        ran = Counter(record["phase"] for record in run.history())
        losses = ", then ".join(
            f"{ran[number]} of {phase.epochs} epochs of {phase.loss.kind}"
            for number, phase in enumerate(recipe.phases, start=1)
        )
        model = json.dumps(plain(recipe.model), sort_keys=True)
        data = ", ".join(f"`{public(spec)}`" for spec in run.data)
        training.append(f"- **{run.path.name}**: recipe `{recipe.name}` on {data}; {losses}; model `{model}`.")
    told = Page("", score_blocks(plan, scores, times=False)).markdown().split("\n", 2)[2].strip()
    labels = len(bundle.vocabulary(manifest.tagger.vocabulary).words) if manifest.tagger is not None else 0
    template = (ROOT / "tools" / "model_card.md").read_text(encoding="utf-8")
    return template.format(
        about=plan["about"],
        size=bundle.size / 1e6,
        precision=manifest.precision,
        fingerprint=bundle.fingerprint[:16],
        made_by=manifest.made_by,
        commit=f", commit `{commit}`" if commit else "",
        encoder=manifest.encoder.name,
        layouts=", ".join(f"`{layout.name}`" for layout in manifest.encoder.layouts),
        labels=labels,
        training="\n".join([*training, *kept]),
        scores=told,
        failures=failures(plan["failures"], bundle, out),
    )


def failures(chosen: Mapping[str, str], bundle: Bundle, out: Path) -> str:
    """A sheet of photographs that the bundle tells wrongly, and what the card says of it."""
    if not chosen:
        return ""
    sys.path.insert(0, str(ROOT / "examples"))
    from samples import SAMPLES

    samples = {sample.name: sample for sample in SAMPLES}
    cells, credits = [], []
    with open_model(bundle.path) as model:
        from seetell.images import decode

        for name, wrong in chosen.items():
            told = model.describe(samples[name].path)
            tags = ", ".join(tag.label for tag in told.tags)
            cells.append(Cell(decode(samples[name].path), told.text, [f"tags: {tags or 'none'}", wrong]))
            credits.append(f"{name}, {samples[name].credit}")
    save_image(contact_sheet(cells, columns=3, width=240), out / FAILURES)
    return f"\n![What it told of some photographs, and what is wrong with it]({FAILURES})\n\n{'; '.join(credits)}.\n"


if __name__ == "__main__":
    main()
