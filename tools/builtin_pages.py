"""The built-in model: its page in docs/results, its model card, and the README's table."""

import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builtin_build import HEADS, public

from seetell.bundle import Bundle, Score
from seetell.errors import SeetellError
from seetell.figures.page import Block, Command, Heading, Page, Paragraph, Table, markdown
from seetell.figures.sheet import Cell, contact_sheet, save_image
from seetell.files import write_file
from seetell.learn.training.checkpoints import read_json
from seetell.learn.training.run import Run
from seetell.metrics.flatten import flatten_metrics
from seetell.runtime import open_model
from seetell.settings import plain

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDERS = {"data": "DATA", "images": "DATA/coco/train2017"}
CARD, FAILURES = "MODEL_CARD.md", "failures.png"
README_TABLE = re.compile(r"(<!-- builtin:begin -->\n).*(<!-- builtin:end -->)", re.DOTALL)
SHOWN = {
    "captioner": ("bleu1", "bleu4", "meteor", "rouge_l", "cider", "uncertain"),
    "tagger": ("precision", "recall", "f1_of_means", "map"),
    "retriever": (
        *("image_to_text.r1", "image_to_text.r5", "image_to_text.r10"),
        *("text_to_image.r1", "text_to_image.r5", "text_to_image.r10", "sum_of_recalls"),
    ),
}


def line_of(path: Path, start: str) -> str:
    """The last line of a file that starts with a text."""
    found = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(start)]
    if not found:
        raise SeetellError(f"no line starts with {start!r}", where=str(path), remedy="Train this head as well")
    return found[-1]


def test_scores(plan: Mapping[str, Any], bundle: Bundle) -> dict[str, dict[str, Score]]:
    """The bundle's own test scores: dataset of the plan → kind of head → score."""
    names = {public(plan["data"][name].format(**PLACEHOLDERS)): name for name in plan["tested"]}
    found: dict[str, dict[str, Score]] = {}
    for head in bundle.manifest.heads:
        for score in head.scores:
            if score.split == "test" and score.measured_on == "bundle":
                name = names[re.sub(r"[?&]limit=\d+$", "", score.data)]
                found.setdefault(name, {})[head.KIND] = score
    return {name: found[name] for name in plan["tested"] if name in found}


def score_blocks(plan: Mapping[str, Any], bundle: Bundle) -> list[Block]:
    """For each dataset the command, and for each head the protocol and its scores."""
    blocks: list[Block] = []
    for name, by_kind in test_scores(plan, bundle).items():
        data = next(iter(by_kind.values())).data
        blocks.append(Heading(name, 3))
        blocks.append(Command(f"seetell evaluate builtin --data {shlex.quote(data)} --split test"))
        for kind, score in by_kind.items():
            blocks.append(Paragraph(f"{kind.capitalize()}: {score.images:,} images; {score.protocol}."))
            values = flatten_metrics(score.metrics)
            rows = [[metric, f"{values[metric]:.1f}" if metric in values else "not measured"] for metric in SHOWN[kind]]
            blocks.append(Table(["metric", "score"], rows))
    return blocks


def comparison(plan: Mapping[str, Any], bundle: Bundle) -> Table:
    """The bundle's scores and the papers' published ones."""
    rows = []
    scores = test_scores(plan, bundle)
    for name, heads in plan["published"].items():
        for kind, metrics in heads.items():
            values = flatten_metrics(scores[name][kind].metrics)
            for metric, (value, source) in metrics.items():
                shown = f"{values[metric]:.1f}" if metric in values else "not measured"
                rows.append([f"{name}, {plan['metric_names'][metric]}", shown, f"{value}", source])
    return Table(["test split", "built in", "published", "by"], rows)


def update_readme(path: Path, table: Table) -> None:
    """Write the table between the README's markers."""
    text, drawn = path.read_text(encoding="utf-8"), markdown(table)
    write_file(path, README_TABLE.sub(lambda found: f"{found[1]}{drawn}\n{found[2]}", text))


def results_page(plan: Mapping[str, Any], bundle: Bundle) -> Page:
    """The page of docs/results, without its sections on training and quantization."""
    page = Page("The built-in model")
    page.add(
        Command("make builtin DATA=folder"),
        Paragraph(
            f"{plan['about']} {bundle.size:,} bytes in {len(bundle.manifest.files)} files, {bundle.manifest.precision} "
            f"weights, fingerprint `{bundle.fingerprint[:16]}`. Scores are those of the bundle itself, without "
            "PyTorch, on test splits that were not used for any choice."
        ),
        *(Paragraph(each) for each in plan["remarks"].strip().split("\n\n") if each),
        Heading("Scores"),
        *score_blocks(plan, bundle),
    )
    return page


def training_blocks(
    plan: Mapping[str, Any], packed: Bundle, runs: Sequence[Path], work: Path, kept: Sequence[list[str]] = ()
) -> list[Block]:
    """The sections on training and quantization.

    Args:
        kept: rows on the training of heads that were kept.
    """
    exported = read_json(bundle_folder(packed, work) / "export.json")
    head = ["head", "recipe", "epochs", "best validation score", "time"]
    blocks: list[Block] = [
        Heading("Training"),
        Table(head, [*(training_row(Run.open(run)) for run in runs), *kept]),
        Paragraph(f"Packed and compared with the checkpoints in {minutes(exported['seconds'])}."),
    ]
    if "before" in exported:
        blocks += quantization_blocks(plan, exported, [HEADS[run.name] for run in runs])
    return blocks


def quantization_blocks(plan: Mapping[str, Any], exported: Mapping[str, Any], kinds: Sequence[str]) -> list[Block]:
    rows = [
        [f"{kind}: {metric}", f"{before:.2f}", f"{flatten_metrics(exported['after'][kind]['metrics'])[metric]:.2f}"]
        for kind, report in exported["before"].items()
        for metric, before in flatten_metrics(report["metrics"]).items()
        if metric in SHOWN[kind] and kind in kinds
    ]
    before, after = exported["bytes_before"] / 1e6, exported["bytes_after"] / 1e6
    return [
        Heading("Quantization"),
        Paragraph(
            f"From {before:.1f} MB to {after:.1f} MB. Scores on {plan['measured']} images of the validation splits:"
        ),
        Table(["", "float32", plan["quantize"]], rows),
    ]


def bundle_folder(bundle: Bundle, work: Path) -> Path:
    """The folder in which a bundle was packed."""
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


def model_card(plan: Mapping[str, Any], bundle: Bundle, training: Sequence[str], out: Path, commit: str) -> str:
    """The model card: the template, filled in. Two builds of one commit give the same text.

    Args:
        training: one `training_line` per head.
    """
    manifest = bundle.manifest
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
        training="\n".join(training),
        scores="\n\n".join(markdown(block) for block in score_blocks(plan, bundle)),
        failures=failures(plan["failures"], bundle, out),
    )


def redraw(plan: Mapping[str, Any], folder: Path, page: Path) -> None:
    """Rewrite the model card and the page of a shipped bundle; what is not in the bundle is taken from them."""
    bundle = Bundle.open(folder)
    card = (folder / CARD).read_text(encoding="utf-8")
    commit = re.search(r", commit `([^`]*)`", card)
    training = [line for line in card.splitlines() if re.match(r"- \*\*\w+\*\*: recipe", line)]
    write_file(folder / CARD, model_card(plan, bundle, training, folder, commit[1] if commit else ""))
    _, heading, rest = page.read_text(encoding="utf-8").partition("## Training\n")
    write_file(page, f"{results_page(plan, bundle).markdown()}\n{heading}{rest}")


def training_line(run: Run) -> str:
    """How a head was trained, as an item of the model card's list."""
    recipe = run.recipe
    ran = Counter(record["phase"] for record in run.history())
    losses = ", then ".join(
        f"{ran[number]} of {phase.epochs} epochs of {phase.loss.kind}"
        for number, phase in enumerate(recipe.phases, start=1)
    )
    model = json.dumps(plain(recipe.model), sort_keys=True)
    data = ", ".join(f"`{public(spec)}`" for spec in run.data)
    return f"- **{run.path.name}**: recipe `{recipe.name}` on {data}; {losses}; model `{model}`."


def failures(chosen: Mapping[str, str], bundle: Bundle, out: Path) -> str:
    """Draw a sheet of photographs with wrong captions; returns the card's paragraph about it."""
    if not chosen:
        return ""
    sys.path.insert(0, str(ROOT / "examples"))
    from samples import SAMPLES

    from seetell.images import decode

    samples = {sample.name: sample for sample in SAMPLES}
    cells, credits = [], []
    with open_model(bundle.path) as model:
        for name, shown in chosen.items():
            description = model.describe(samples[name].path)
            tags = ", ".join(tag.label for tag in description.tags)
            cells.append(Cell(decode(samples[name].path), description.text, [f"tags: {tags or 'none'}", shown]))
            credits.append(f"{name}, {samples[name].credit}")
    save_image(contact_sheet(cells, columns=3, width=240), out / FAILURES)
    return f"\n![Photographs with wrong captions, and what they show]({FAILURES})\n\n{'; '.join(credits)}.\n"
