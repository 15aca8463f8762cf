"""`seetell similar`: score sentences against an image."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.options import AsJson, ModelName


def similar(
    image: Annotated[Path, typer.Argument(help="An image.")],
    texts: Annotated[list[str], typer.Argument(metavar="TEXT…", help="Sentences.")],
    model: ModelName = None,
    as_json: AsJson = False,
) -> None:
    """Score sentences against an image, best first."""
    import json

    from seetell.runtime import open_model

    with open_model(model) as opened:
        retriever = opened.retriever
        for match in retriever.match(image, texts):
            if as_json:
                typer.echo(json.dumps({"text": match.text, "score": round(match.score, 6)}, ensure_ascii=False))
            else:
                typer.echo(f"{match.score:8.4f}  {match.text}")
        unknown = dict.fromkeys(word for text in texts for word in retriever.unknown(text) if word.isalpha())
    if unknown:
        typer.echo(f"seetell: words unknown to this model: {', '.join(unknown)}", err=True)
