"""The command line: one file a command. Nothing heavy is imported until a command runs."""

import sys

import typer

from seetell.cli.caption import caption
from seetell.cli.check import check
from seetell.cli.duplicates import duplicates
from seetell.cli.evaluate import evaluate
from seetell.cli.index import index
from seetell.cli.learn_export import export
from seetell.cli.learn_features import features
from seetell.cli.learn_reproduce import reproduce
from seetell.cli.learn_train import train
from seetell.cli.learn_tune import tune
from seetell.cli.library import app as library
from seetell.cli.models import app as bundles
from seetell.cli.reindex import reindex
from seetell.cli.search import search
from seetell.cli.serve import serve
from seetell.cli.similar import similar
from seetell.cli.tag import tag
from seetell.cli.watch import watch
from seetell.errors import SeetellError

app = typer.Typer(
    name="seetell",
    help="See images, tell them in words, find them by words.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: formatting it would take half of the time it takes to answer
)
learn = typer.Typer(help="Train, compare and export models (needs the extra `learn`).", no_args_is_help=True)
app.add_typer(learn, name="learn")

app.command()(caption)
app.command()(tag)
app.command()(similar)
app.command()(index)
app.command()(search)
app.command()(serve)
app.command()(duplicates)
app.command()(watch)
app.command()(reindex)
app.add_typer(library, name="library")
app.add_typer(bundles, name="bundles")
app.command()(check)
app.command()(evaluate)
learn.command()(export)
learn.command()(features)
learn.command()(reproduce)
learn.command()(train)
learn.command()(tune)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    if version:
        from seetell import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 1, never a traceback."""
    try:
        app()
    except SeetellError as error:
        print(f"seetell: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("seetell: stopped; what was finished is kept", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # `seetell … | head`
        sys.stderr.close()
        sys.exit(141)
