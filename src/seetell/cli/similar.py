"""`seetell similar`: how well sentences fit an image."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.images import BundleName


def similar(
    image: Annotated[Path, typer.Argument(help="An image.")],
    texts: Annotated[list[str], typer.Argument(metavar="TEXT…", help="Sentences.")],
    bundle: BundleName = "",
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Score sentences against an image; the best comes first."""
    import json

    from seetell.runtime import open_model

    with open_model(bundle or None) as model:
        retriever = model.retriever
        for match in retriever.match(image, texts):
            if as_json:
                typer.echo(json.dumps({"text": match.text, "score": round(match.score, 6)}, ensure_ascii=False))
            else:
                typer.echo(f"{match.score:8.4f}  {match.text}")
        unknown = dict.fromkeys(word for text in texts for word in retriever.unknown(text) if word.isalpha())
    if unknown:
        typer.echo(f"seetell: words that this bundle does not know: {', '.join(unknown)}", err=True)
