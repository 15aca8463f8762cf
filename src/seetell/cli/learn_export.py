"""`seetell learn export`: export runs as a model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

Reports = Mapping[str, Mapping[str, Any]]


def export(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs that share an encoder; they become one model.")],
    out: Annotated[Path, typer.Option("--out", help="The model's folder.")],
    data: Annotated[
        list[str] | None,
        typer.Option("--data", help="A dataset to compare and measure on; by default the runs' own."),
    ] = None,
    split: Annotated[str, typer.Option(help="Which split of it.")] = "val",
    measure: Annotated[int | None, typer.Option(min=1, help="Score the model on this many images.")] = None,
    quantize: Annotated[
        str | None, typer.Option(help="Store the weights as int8 or float16, and measure the effect.")
    ] = None,
    rerank_weight: Annotated[
        float | None,
        typer.Option(min=0, help="With a captioner and a retriever: weight of image–text similarity in re-ranking."),
    ] = None,
    uncertain_below: Annotated[
        float | None,
        typer.Option(help="With --rerank-weight: mark captions whose similarity is below this value as uncertain."),
    ] = None,
    retry_below: Annotated[
        float | None,
        typer.Option(help="With --rerank-weight: re-caption images whose similarity is below this value."),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="A model whose other heads are kept; runs replace its heads of their kind.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The model's name; by default the folder's.")] = None,
    about: Annotated[str | None, typer.Option(help="A sentence about it.")] = None,
    licence: Annotated[str, typer.Option(help="The licence under which others may use it.")] = "not stated",
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing model.")] = False,
) -> None:
    """Export trained runs as one model, after verifying that it matches the checkpoints."""
    from seetell.bundle import Bundle
    from seetell.bundle.registry import find_bundle
    from seetell.learn.exporting import ExportOptions, ModelInfo
    from seetell.learn.exporting import export as export_runs
    from seetell.progress import for_terminal

    options = ExportOptions(
        quantize=quantize,
        rerank_weight=rerank_weight,
        uncertain_below=uncertain_below,
        retry_below=retry_below,
        base=Bundle.open(find_bundle(base)) if base else None,
        replace=replace,
    )
    info = ModelInfo(name or out.name.lower(), about or "", licence)
    exported = export_runs(
        runs, out, info=info, data=data, split=split, measure=measure, options=options, progress=for_terminal()
    )
    bundle, cost = exported.bundle, exported.quantization
    kinds = ", ".join(bundle.manifest.kinds)
    typer.echo(f"{out}: {kinds}; {bundle.size / 1e6:.1f} MB; fingerprint {bundle.fingerprint[:16]}")
    if cost is not None:
        typer.echo(f"{cost.bytes_before / 1e6:.1f} MB → {cost.bytes_after / 1e6:.1f} MB. Scores before → after:")
        for line in _changes(cost.before, cost.after):
            typer.echo(f"  {line}")


def _changes(before: Reports, after: Reports) -> list[str]:
    from seetell.metrics.flatten import flatten_metrics

    lines = []
    for kind, report in before.items():
        now = flatten_metrics(after[kind]["metrics"])
        for key, value in flatten_metrics(report["metrics"]).items():
            lines.append(f"{kind}: {key} {value:.2f} → {now[key]:.2f} ({now[key] - value:+.2f})")
    return lines
