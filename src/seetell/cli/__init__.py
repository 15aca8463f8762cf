"""The command line, one file per command. Nothing heavy is imported until a command runs."""

import os
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from seetell.cli.caption import caption
from seetell.cli.check import check
from seetell.cli.evaluate import evaluate
from seetell.cli.exit_codes import BROKEN_PIPE, EPILOG, ExitCode
from seetell.cli.index import index
from seetell.cli.learn_export import export
from seetell.cli.learn_features import features
from seetell.cli.learn_reproduce import reproduce
from seetell.cli.learn_train import train
from seetell.cli.learn_tune import tune
from seetell.cli.library import app as library
from seetell.cli.models import app as models
from seetell.cli.search import search
from seetell.cli.serve import serve
from seetell.cli.similar import similar
from seetell.cli.tag import tag
from seetell.cli.watch import watch
from seetell.errors import SeetellError


class _Commands(TyperGroup):
    """The commands, with this project's exit codes for Ctrl-C and for a closed pipe."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("seetell: interrupted", err=True)
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the last flush would fail again
            raise typer.Exit(BROKEN_PIPE) from None


app = typer.Typer(
    name="seetell",
    cls=_Commands,
    help="Caption, tag and search your own images, offline.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: formatting would double the time it takes
)
learn = typer.Typer(help="Train, compare and export models (needs the extra `learn`).", no_args_is_help=True)

COMMANDS: list[Callable[..., None]] = [caption, tag, similar, index, search, serve, watch, check, evaluate]
LEARN_COMMANDS: list[Callable[..., None]] = [features, train, tune, reproduce, export]
for command in COMMANDS:
    app.command()(command)
for command in LEARN_COMMANDS:
    learn.command()(command)
app.add_typer(library, name="library")
app.add_typer(models, name="models")
app.add_typer(learn, name="learn")


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    if version:
        from seetell import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error, never a traceback."""
    try:
        app()
    except SeetellError as error:
        print(f"seetell: {error}", file=sys.stderr)
        sys.exit(ExitCode.ERROR)
    except Exception:  # a bug: Python's own exit code, 1, would mean "nothing found"
        import traceback

        traceback.print_exc()
        sys.exit(ExitCode.ERROR)
