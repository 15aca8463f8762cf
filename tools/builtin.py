"""The built-in suite from its data: three runs, one bundle, and the page of what it reaches.

    python tools/builtin.py DATA [--coco-pictures DIR] [--work build/builtin] [--limit 2000]

DATA holds `flickr8k`, and in `coco` the tables `labels.tsv` and `captions.jsonl`; COCO's pictures are in
`DATA/coco/train2017` unless told. Every step is a command that is printed and can be typed. Stopped at any moment, it
goes on where it was. With a limit (so many pictures of each split of each dataset) nothing but the work folder is
written; without, the bundle goes into the package and the page into docs/results.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seetell.learn.page import Command, Heading, Page, Paragraph, Table

ROOT = Path(__file__).resolve().parent.parent
NAME = "seetell-1"
ABOUT = "Captions, tags and search for photographs, trained on Flickr8k and COCO with a frozen EfficientNet-Lite2."
LICENCE = "Apache-2.0; trained on Flickr8k (research use) and COCO (annotations CC BY 4.0)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--coco-pictures", type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/builtin"))
    parser.add_argument("--limit", type=int, default=0)
    arguments = parser.parse_args()
    limit = f"limit={arguments.limit}" if arguments.limit else ""
    pictures = f"images={arguments.coco_pictures or arguments.data / 'coco' / 'train2017'}"
    flickr = _spec(f"flickr8k:{arguments.data / 'flickr8k'}", limit)
    captions = _spec(f"table:{arguments.data / 'coco' / 'captions.jsonl'}", pictures, limit)
    labels = _spec(f"table:{arguments.data / 'coco' / 'labels.tsv'}", pictures, "extra=train", limit)
    work = arguments.work / (f"limit-{arguments.limit}" if limit else "whole")

    runs = [
        train("best-tags", work / "tags", [labels], "encoder.view=whole"),
        train("best-caption", work / "captions", [flickr, captions]),
        train("best-retrieval", work / "match", [flickr, captions]),
    ]
    bundle = work / NAME
    if not (bundle / "bundle.json").exists():
        seetell(
            *("learn", "export", *map(str, runs), "--out", str(bundle), "--name", NAME, "--smaller", "int8"),
            *("--data", flickr, "--data", labels, "--split", "val", "--measure", "500"),
            *("--about", ABOUT, "--licence", LICENCE),
        )
    reports = [report for spec in (flickr, captions, labels) for report in evaluate(bundle, spec)]
    if limit:
        write_page(reports, bundle, work)
        return
    write_page(reports, bundle, ROOT / "docs" / "results")
    shipped = ROOT / "src" / "seetell" / "builtin"
    shutil.rmtree(shipped, ignore_errors=True)
    shutil.copytree(bundle, shipped / NAME)


def _spec(source: str, *parameters: str) -> str:
    return "?".join(filter(None, (source, "&".join(filter(None, parameters)))))


def seetell(*arguments: str) -> None:
    print("\n$ " + shlex.join(("seetell", *arguments)), flush=True)
    subprocess.run([sys.executable, "-m", "seetell.cli", *arguments], check=True)


def train(recipe: str, out: Path, data: Sequence[str], *settings: str) -> Path:
    given = [part for spec in data for part in ("--data", spec)]
    given += [part for setting in settings for part in ("--set", setting)]
    seetell("learn", "train", recipe, *given, "--out", str(out), *(["--resume"] if out.exists() else []))
    return out


def evaluate(bundle: Path, spec: str) -> list[dict[str, Any]]:
    """The test split through the bundle itself; a report for each head that it has something for."""
    kept = bundle.parent / f"{Path(spec.partition(':')[2].partition('?')[0]).stem}.jsonl"
    if not kept.exists():
        command = [sys.executable, "-m", "seetell.cli", "evaluate", str(bundle), "--data", spec, "--json"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        kept.write_bytes(done.stdout)
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


SHOWN = {
    "captioner": ("bleu1", "bleu4", "meteor", "rouge_l", "cider"),
    "tagger": ("precision", "recall", "f1_of_means", "map"),
    "retriever": ("image_to_text.r1", "image_to_text.r10", "text_to_image.r1", "text_to_image.r10", "sum_of_recalls"),
}


def write_page(reports: Sequence[Mapping[str, Any]], bundle: Path, folder: Path) -> None:
    manifest = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    size = sum(each.stat().st_size for each in bundle.iterdir())
    page = Page(f"The built-in suite, {manifest['name']}")
    page.add(Paragraph(f"{manifest['about']} {size / 1e6:.1f} MB, weights as {manifest['precision']}."))
    page.add(Paragraph("Scores of the bundle itself, without PyTorch, on test splits that nothing was chosen on."))
    for report in reports:
        names = [name for name in SHOWN[report["kind"]] if _metric(report["metrics"], name) is not None]
        data = ", ".join(_public(spec) for spec in report["data"])
        page.add(
            Heading(f"{report['kind'].capitalize()}: {Path(data.partition(':')[2].partition('?')[0]).name}"),
            Command(f"seetell evaluate builtin --data {shlex.quote(data)} --split {report['split']}"),
            Paragraph(f"{report['pictures']:,} pictures; {report['protocol']}."),
            Table(names, [[f"{_metric(report['metrics'], name):.1f}" for name in names]]),
        )
    page.write(folder, "builtin")


def _metric(metrics: Mapping[str, Any], name: str) -> Any:
    found: Any = metrics
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _public(spec: str) -> str:
    """A dataset without the folders of the machine that measured it."""
    kind, _, rest = spec.partition(":")
    path, _, parameters = rest.partition("?")
    kept = [part for part in parameters.split("&") if part and not part.startswith(("images=", "extra="))]
    return _spec(f"{kind}:{Path(path).name}", *(["images=PICTURES"] if "images=" in parameters else []), *kept)


if __name__ == "__main__":
    main()
