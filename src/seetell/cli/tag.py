"""`seetell tag`: label what images show."""

from typing import TYPE_CHECKING, Annotated

import typer

from seetell.cli.options import AsJson, ImagePaths, ModelName, Quiet, Threads

if TYPE_CHECKING:
    from seetell.runtime import TagResult


def tag(
    paths: ImagePaths,
    model: ModelName = None,
    as_json: AsJson = False,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest confidence of a tag; set by the model by default.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Most tags per image; set by the model by default.")
    ] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Tag images: a line per image."""
    from seetell.cli.images import find_images, progress_with_output, report_unreadable
    from seetell.runtime import open_model

    images, problems = find_images(paths)
    unreadable = 0
    with open_model(model, threads=threads) as opened:
        for result in opened.tagger(images, threshold=threshold, top=top, progress=progress_with_output(quiet=quiet)):
            unreadable += result.error is not None
            typer.echo(_as_json(result) if as_json else _as_text(result))
    report_unreadable(len(images), unreadable, problems)


def _as_text(result: "TagResult") -> str:
    if result.error is not None:
        return f"{result.name}\t! {result.error.problem}"
    tags = ", ".join(f"{each.label} {each.confidence:.0%}" for each in result.tags)
    return f"{result.name}\t{tags or '(no tags)'}"


def _as_json(result: "TagResult") -> str:
    import json

    if result.error is not None:
        return json.dumps({"path": result.name, "error": str(result.error)}, ensure_ascii=False)
    tags = [{"label": each.label, "confidence": round(each.confidence, 4)} for each in result.tags]
    return json.dumps({"path": result.name, "tags": tags}, ensure_ascii=False)
