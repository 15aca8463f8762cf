"""`seetell bundles`: what is built in and installed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from seetell.bundle import Manifest

HEADLINES = {
    "captioner": ("bleu4", "meteor", "rouge_l", "cider"),
    "tagger": ("precision", "recall", "f1_of_means", "map"),
    "retriever": ("image_to_text.r1", "image_to_text.r10", "text_to_image.r1", "text_to_image.r10"),
}

app = typer.Typer(help="List bundles, show one, add or remove them.", invoke_without_command=True)


@app.callback()
def bundles(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """List the bundles there are."""
    if context.invoked_subcommand is not None:
        return
    import json

    from seetell.bundle import BundleError, installed, read_manifest

    places = installed()
    for place in places:
        row: dict[str, Any] = {"name": place.name, "path": str(place.path), "builtin": place.builtin}
        try:
            row |= described(read_manifest(place.path))
        except BundleError as error:
            row["error"] = str(error)
        if as_json:
            typer.echo(json.dumps(row, ensure_ascii=False))
        elif "error" in row:
            typer.echo(f"{place.name}\t! {row['error']}")
        else:
            size = f"{row['bytes'] / 1e6:.1f} MB"
            typer.echo(f"{place.name}\t{', '.join(row['kinds'])}\t{size}\t{row['precision']}\t{row['licence']}")
            for kind, scores in row["scores"].items():
                for score in scores[-1:]:
                    typer.echo(f"  {kind}: {headline(kind, score['metrics'])} ({score['data']}, {score['split']})")
    if not places and not as_json:
        typer.echo("There are no bundles: `seetell learn export` makes one, `seetell bundles add` adds it.", err=True)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A bundle's name or folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Verify a bundle, and show all that it says about itself."""
    import json

    from seetell.bundle import Bundle, find_bundle

    bundle = Bundle.open(find_bundle(name))
    row = {"name": bundle.manifest.name, "path": str(bundle.path), **described(bundle.manifest)}
    if as_json:
        typer.echo(json.dumps(row, ensure_ascii=False))
        return
    scores = row.pop("scores")
    for key, value in row.items():
        if value:
            typer.echo(f"{key.replace('_', ' ')}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    for kind, each in scores.items():
        for score in each:
            measured = f"{score['data']}, {score['split']}, {score['protocol']}, measured on the {score['measured_on']}"
            typer.echo(f"{kind} ({measured}):")
            typer.echo("  " + ", ".join(f"{name} {value:.1f}" for name, value in flat(score["metrics"]).items()))


@app.command()
def add(
    folder: Annotated[Path, typer.Argument(help="A bundle's folder.")],
    name: Annotated[str, typer.Option(help="What to call it here; its own name if not given.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace one of the same name.")] = False,
) -> None:
    """Copy a bundle to where it can be called by its name."""
    from seetell.bundle import add as add_bundle

    place = add_bundle(folder, name or None, replace=replace)
    typer.echo(f"{place.name}\t{place.path}")


@app.command()
def remove(name: Annotated[str, typer.Argument(help="A bundle that was added.")]) -> None:
    """Delete a bundle that was added."""
    from seetell.bundle import remove as remove_bundle

    place = remove_bundle(name)
    typer.echo(f"{place.name} was removed from {place.path.parent}")


def described(manifest: "Manifest") -> dict[str, Any]:
    """What people and scripts want to know of a bundle."""
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
    """The few numbers by which heads of a kind are usually compared; the first four, where none of these is there."""
    every = flat(metrics)
    wanted = [name for name in HEADLINES[kind] if name in every] or list(every)[:4]
    return ", ".join(f"{name} {every[name]:.1f}" for name in wanted)


def flat(metrics: dict[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested numbers under names with dots."""
    found: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, int | float):
            found[f"{prefix}{name}"] = value
    return found
