"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ImagePaths = Annotated[list[Path], typer.Argument(metavar="PATH…", help="Images, or folders of images.")]
ModelName = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="Name or folder of a model; the built-in one by default.")
]
LibraryPath = Annotated[
    str | None,
    typer.Option(
        "--library",
        metavar="PATH",
        help="Folder of the library, or milvus://host:19530/name; $SEETELL_LIBRARY or your own library by default.",
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="CPU cores to use; all by default.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object per line.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Hide progress.")]
