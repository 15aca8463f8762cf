"""`seetell similar`: how well sentences fit a picture."""

from pathlib import Path
from typing import Annotated

import typer

from seetell.cli.pictures import BundleName


def similar(
    picture: Annotated[Path, typer.Argument(help="A picture.")],
    texts: Annotated[list[str], typer.Argument(metavar="TEXT…", help="Sentences.")],
    bundle: BundleName = "",
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
) -> None:
    """Score sentences against a picture; the best comes first."""
    import json

    from seetell.runtime import open_bundle

    with open_bundle(bundle or None) as suite:
        retriever = suite.retriever
        for match in retriever.match(picture, texts):
            if as_json:
                typer.echo(json.dumps({"text": match.text, "score": round(match.score, 6)}, ensure_ascii=False))
            else:
                typer.echo(f"{match.score:8.4f}  {match.text}")
        unknown = dict.fromkeys(word for text in texts for word in retriever.unknown(text) if word.isalpha())
    if unknown:
        typer.echo(f"seetell: words that this bundle does not know: {', '.join(unknown)}", err=True)
