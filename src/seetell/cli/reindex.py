"""`seetell reindex`: a library moves to another bundle."""

from typing import Annotated

import typer

from seetell.cli.library_options import AsJson, LibraryPath, Quiet


def reindex(
    bundle: Annotated[str, typer.Option("--bundle", help="The new bundle's name or folder.")],
    library: LibraryPath = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Move a library to another bundle; it can be searched meanwhile, and goes on where it was if it is stopped."""
    from seetell.cli.library_options import interruptible, told
    from seetell.library import Library
    from seetell.progress import for_terminal

    with Library.open(library, create=False, mend=True) as opened, interruptible() as stop:
        report = opened.reindex(bundle, progress=for_terminal(quiet=quiet or as_json), stop=stop)
        path = str(opened.path)
    told(report, path, as_json=as_json)
