"""`seetell tag`: what is in images."""

from typing import Annotated

import typer

from seetell.cli.images import BundleName, ImagePaths, Threads


def tag(
    paths: ImagePaths,
    bundle: BundleName = "",
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="The least confidence; 0: as the bundle says.")] = 0.0,
    top: Annotated[int, typer.Option(min=0, help="At most so many tags; 0: as the bundle says.")] = 0,
    threads: Threads = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Tag images.

    Exits with 0 if every image was read, 3 if some were not, 1 if none was.
    """
    import json
    import sys

    from seetell.cli.images import finish, listed
    from seetell.progress import SILENT, for_terminal
    from seetell.runtime import open_model

    images = listed(paths)
    progress = SILENT if quiet or sys.stdout.isatty() or not sys.stderr.isatty() else for_terminal()
    failed = 0
    with open_model(bundle or None, threads=threads or None) as model:
        for result in model.tagger(images, threshold=threshold or None, top=top or None, progress=progress):
            failed += result.error is not None
            if as_json and result.error is not None:
                typer.echo(json.dumps({"path": result.name, "error": str(result.error)}, ensure_ascii=False))
            elif as_json:
                tags = [{"label": each.label, "confidence": round(each.confidence, 4)} for each in result.tags]
                typer.echo(json.dumps({"path": result.name, "tags": tags}, ensure_ascii=False))
            elif result.error is not None:
                typer.echo(f"{result.name}\t! {result.error.problem}")
            else:
                tags_text = ", ".join(f"{each.label} {100 * each.confidence:.0f} %" for each in result.tags)
                typer.echo(f"{result.name}\t{tags_text or '(nothing it knows)'}")
    finish(len(images), failed)
