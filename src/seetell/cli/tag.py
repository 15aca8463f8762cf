"""`seetell tag`: what is in pictures."""

from typing import Annotated

import typer

from seetell.cli.pictures import BundleName, PicturePaths, Threads


def tag(
    paths: PicturePaths,
    bundle: BundleName = "",
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="The least confidence; 0: as the bundle says.")] = 0.0,
    top: Annotated[int, typer.Option(min=0, help="At most so many tags; 0: as the bundle says.")] = 0,
    threads: Threads = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Tag pictures.

    Exits with 0 if every picture was read, 3 if some were not, 1 if none was.
    """
    import json
    import sys

    from seetell.cli.pictures import finish, listed
    from seetell.progress import SILENT, for_terminal
    from seetell.runtime import open_bundle

    pictures = listed(paths)
    progress = SILENT if quiet or sys.stdout.isatty() or not sys.stderr.isatty() else for_terminal()
    failed = 0
    with open_bundle(bundle or None, threads=threads or None) as suite:
        for result in suite.tagger(pictures, threshold=threshold or None, top=top or None, progress=progress):
            failed += result.error is not None
            if as_json and result.error is not None:
                typer.echo(json.dumps({"path": result.picture, "error": str(result.error)}, ensure_ascii=False))
            elif as_json:
                tags = [{"label": each.label, "confidence": round(each.confidence, 4)} for each in result.tags]
                typer.echo(json.dumps({"path": result.picture, "tags": tags}, ensure_ascii=False))
            elif result.error is not None:
                typer.echo(f"{result.picture}\t! {result.error.problem}")
            else:
                tags_text = ", ".join(f"{each.label} {100 * each.confidence:.0f} %" for each in result.tags)
                typer.echo(f"{result.picture}\t{tags_text or '(nothing it knows)'}")
    finish(len(pictures), failed)
