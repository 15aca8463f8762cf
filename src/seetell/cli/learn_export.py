"""`seetell learn export`: runs become a bundle."""

from pathlib import Path
from typing import Annotated, Any

import typer

from seetell.errors import DatasetError

_COMPARED = 16  # images, and as many texts, on which bundle and checkpoints must agree


def export(
    runs: Annotated[list[Path], typer.Argument(help="A run's folder; several that share an encoder become a model.")],
    out: Annotated[Path, typer.Option("--out", help="The bundle's folder.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", help="Real images to compare and measure on; the runs' own data.")
    ] = None,
    split: Annotated[str, typer.Option(help="Which split of it.")] = "val",
    measure: Annotated[int, typer.Option(help="Score the bundle on so many images; 0: on none.")] = 0,
    smaller: Annotated[str, typer.Option(help="fp16 or int8: round the weights, and say what it costs.")] = "",
    rerank_weight: Annotated[
        float | None,
        typer.Option(help="Captioner with a retriever: how much it counts that the retriever finds a caption to fit."),
    ] = None,
    uncertain_below: Annotated[
        float | None,
        typer.Option(help="With --rerank-weight: the fit below which a caption is called uncertain."),
    ] = None,
    retry_below: Annotated[
        float | None,
        typer.Option(
            help="With --rerank-weight: images whose caption fits less are told again, with words that fit them."
        ),
    ] = None,
    beside: Annotated[
        str, typer.Option(help="A bundle whose other heads are kept: runs take the place of its own of their kind.")
    ] = "",
    name: Annotated[str, typer.Option(help="What the bundle is called; the folder's name.")] = "",
    about: Annotated[str, typer.Option(help="A sentence about it.")] = "",
    licence: Annotated[str, typer.Option(help="Under which others may use it.")] = "not stated",
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of another bundle.")] = False,
) -> None:
    """Make a bundle of trained runs, once it is seen to do what they do."""
    from seetell.bundle import Bundle
    from seetell.bundle.registry import find_bundle
    from seetell.evaluation import EvaluationOptions, evaluate_bundle
    from seetell.learn.export import USUAL, ModelInfo, like, open_runs
    from seetell.learn.export import export as make
    from seetell.learn.training.run import open_data
    from seetell.progress import for_terminal
    from seetell.runtime import Model
    from seetell.util import sample_evenly

    other = Bundle.open(find_bundle(beside)) if beside else None
    smaller = smaller or (like(other) if other is not None else "")
    trained = open_runs(runs)
    specs = data or list(dict.fromkeys(spec for one in trained for spec in one.data))
    dataset = open_data(specs)
    records = dataset.split(split)
    if not records:
        raise DatasetError(
            f"there is nothing in the split {split!r}",
            where=dataset.name,
            remedy="Choose another with --split; bundle and checkpoints are compared on it",
        )
    some = sample_evenly(records, _COMPARED)
    seen = [record.image for record in sample_evenly(dataset.split("train"), USUAL)]
    texts = [caption for record in some for caption in record.captions[:1]]
    images = measure or (500 if smaller else 0)
    progress = for_terminal()

    def score(model: Model) -> dict[str, Any]:
        return evaluate_bundle(
            model, dataset, split, EvaluationOptions(limit=images, meteor=False), progress=progress
        )

    bundle, loss = make(
        trained,
        out,
        ModelInfo(name or out.name.lower(), about, licence, tuple(specs)),
        images=[record.image for record in some],
        texts=texts,
        smaller=smaller,
        rerank_weight=rerank_weight,
        uncertain_below=uncertain_below,
        retry=None if retry_below is None else (retry_below, seen),
        measure=(score, ", ".join(specs), split) if images else None,
        beside=other,
        replace=replace,
        say=lambda line: typer.echo(line, err=True),
    )
    kinds = ", ".join(bundle.manifest.kinds)
    typer.echo(f"{out}: {kinds}; {bundle.size / 1e6:.1f} MB; fingerprint {bundle.fingerprint[:16]}")
    if loss is not None:
        typer.echo(f"{loss.bytes_before / 1e6:.1f} MB became {loss.bytes_after / 1e6:.1f} MB. Scores before → after:")
        for kind, report in loss.before.items():
            for line in _changes(report["metrics"], loss.after[kind]["metrics"]):
                typer.echo(f"  {kind}: {line}")


def _changes(before: dict[str, Any], after: dict[str, Any], prefix: str = "") -> list[str]:
    lines = []
    for key, value in before.items():
        if isinstance(value, dict):
            lines += _changes(value, after[key], f"{prefix}{key}.")
        elif isinstance(value, int | float):
            lines.append(f"{prefix}{key} {value:.2f} → {after[key]:.2f} ({after[key] - value:+.2f})")
    return lines
