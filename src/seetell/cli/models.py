"""`seetell models`: list, show, add and remove models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seetell.cli.exit_codes import ExitCode
from seetell.cli.options import AsJson

if TYPE_CHECKING:
    from seetell.bundle import Manifest

HEADLINES = {
    "captioner": ("bleu4", "meteor", "rouge_l", "cider"),
    "tagger": ("precision", "recall", "f1_of_means", "map"),
    "retriever": ("image_to_text.r1", "image_to_text.r10", "text_to_image.r1", "text_to_image.r10"),
}

app = typer.Typer(help="List, show, add and remove models.", invoke_without_command=True)


@app.callback()
def models(context: typer.Context, as_json: AsJson = False) -> None:
    """List the installed models, or show, add and remove one."""
    if context.invoked_subcommand is None:
        list_models(as_json)


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the installed models: what each can do, its size and its scores."""
    import json

    from seetell.bundle import BundleError, installed, read_manifest

    found = installed()
    for entry in found:
        row: dict[str, Any] = {"name": entry.name, "path": str(entry.path), "builtin": entry.builtin}
        try:
            row |= summary(read_manifest(entry.path))
        except BundleError as error:
            row["error"] = str(error)
        typer.echo(json.dumps(row, ensure_ascii=False) if as_json else "\n".join(_lines(row)))
    if not found:
        typer.echo("seetell: no models; add one with `seetell models add FOLDER`", err=True)
        raise typer.Exit(ExitCode.NOTHING_FOUND)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name or folder of a model.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Verify a model, and show its details and all its scores."""
    import json

    from seetell.bundle import Bundle, find_bundle
    from seetell.metrics.flatten import flatten_metrics

    bundle = Bundle.open(find_bundle(name))
    row = {"name": bundle.manifest.name, "path": str(bundle.path), **summary(bundle.manifest)}
    if as_json:
        typer.echo(json.dumps(row, ensure_ascii=False))
        return
    scores = row.pop("scores")
    for key, value in row.items():
        if value:
            typer.echo(f"{key.replace('_', ' ')}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    for kind, each in scores.items():
        for score in each:
            typer.echo(f"{kind} ({score['data']}, {score['split']}, {score['protocol']}, {score['measured_on']}):")
            metrics = flatten_metrics(score["metrics"])
            typer.echo("  " + ", ".join(f"{name} {value:.1f}" for name, value in metrics.items()))


@app.command()
def add(
    folder: Annotated[Path, typer.Argument(help="Folder of a model.")],
    name: Annotated[str | None, typer.Option(help="Name to give it; its own by default.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a model of the same name.")] = False,
) -> None:
    """Install a model, so that it can be used by name."""
    from seetell.bundle import add as add_bundle

    added = add_bundle(folder, name, replace=replace)
    typer.echo(f"{added.name}\t{added.path}")


@app.command()
def remove(name: Annotated[str, typer.Argument(help="Name of a model that was added.")]) -> None:
    """Delete a model that was added."""
    from seetell.bundle import remove as remove_bundle

    removed = remove_bundle(name)
    typer.echo(f"{removed.name} removed from {removed.path.parent}")


def summary(manifest: "Manifest") -> dict[str, Any]:
    """What a listing shows of a model."""
    from seetell.settings import plain

    return {
        "kinds": list(manifest.kinds),
        "about": manifest.about,
        "bytes": sum(stored.size for stored in manifest.files.values()),
        "precision": manifest.precision,
        "licence": manifest.licence,
        "training_data": list(manifest.training_data),
        "encoder": manifest.encoder.name,
        "made_by": manifest.made_by,
        "fingerprint": manifest.fingerprint,
        "scores": {head.KIND: [plain(score) for score in head.scores] for head in manifest.heads},
    }


def headline(kind: str, metrics: dict[str, Any]) -> str:
    """The few metrics by which heads of a kind are usually compared, or the first four if it has none of them."""
    from seetell.metrics.flatten import flatten_metrics

    flat = flatten_metrics(metrics)
    wanted = [name for name in HEADLINES[kind] if name in flat] or list(flat)[:4]
    return ", ".join(f"{name} {flat[name]:.1f}" for name in wanted)


def _lines(row: dict[str, Any]) -> list[str]:
    if "error" in row:
        return [f"{row['name']}\t! {row['error']}"]
    size = f"{row['bytes'] / 1e6:.1f} MB"
    lines = [f"{row['name']}\t{', '.join(row['kinds'])}\t{size}\t{row['precision']}\t{row['licence']}"]
    for kind, scores in row["scores"].items():
        if scores:
            latest = scores[-1]
            lines.append(f"  {kind}: {headline(kind, latest['metrics'])} ({latest['data']}, {latest['split']})")
    return lines
