"""Help texts: quick to print, and the commands that messages and pages name exist."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer
from typer.models import OptionInfo

import seetell
from seetell.cli import app

PACKAGE = Path(seetell.__file__).parent
HEAVY = ("torch", "onnxruntime", "fastapi", "uvicorn", "PIL", "numpy")
KEPT = {
    *("caption", "tag", "similar", "index", "search", "serve", "watch", "check", "evaluate"),
    *(f"learn {name}" for name in ("features", "train", "tune", "reproduce", "export")),
    *(f"library {name}" for name in ("show", "check", "export", "import", "forget", "reindex", "duplicates")),
    *(f"models {name}" for name in ("list", "show", "add", "remove")),
}


def commands(group: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its full name."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def options(command: Any) -> Iterator[Any]:
    return (each for each in command.params if each.param_type_name == "option")


def test_these_are_the_commands() -> None:
    assert {name for name, _ in commands()} == KEPT


@pytest.mark.parametrize("arguments", [["--help"], ["caption", "--help"], ["library", "--help"], ["learn", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr))\n"
        f"sys.argv = ['seetell', *{arguments}]\n"
        "from seetell.cli import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage: seetell" in done.stdout
    assert done.stderr.strip() == "[]"


def test_everything_has_a_help_text() -> None:
    for name, command in commands():
        assert command.help, name
        for option in options(command):
            assert option.help, (name, option.name)


# Similarities may be any number: it depends on the model.
UNBOUNDED = {"learn export: uncertain_below", "learn export: retry_below"}


def typed_options() -> Iterator[tuple[str, Any, OptionInfo, object]]:
    """Of every option: the command and its name, its type, what Typer knows of it, its default."""
    for name, command in commands():
        function = inspect.unwrap(command.callback)
        hints = get_type_hints(function, include_extras=True)
        for parameter in inspect.signature(function).parameters.values():
            kind, *extras = get_args(hints[parameter.name])
            for option in extras:
                if isinstance(option, OptionInfo):
                    yield f"{name}: {parameter.name}", kind, option, parameter.default


def test_numbers_have_a_range() -> None:
    numbers = [each for each in typed_options() if {each[1], *get_args(each[1])} & {int, float}]
    assert len(numbers) >= 8
    for name, _, option, _ in numbers:
        assert option.min is not None or name in UNBOUNDED, name


def test_options_that_are_not_given_are_none() -> None:
    """Not 0 or "": those are values."""
    for name, kind, _, default in typed_options():
        if kind is not bool:
            assert default not in (0, ""), name


def mentions() -> Iterator[tuple[str, str]]:
    """Every command line in a text of the sources, with its file and line."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for found in re.finditer(r"\bseetell ((?:[a-z]+|import) ?(?:[a-z]+)?(?: --[a-z-]+)*)", node.value):
                    before = node.value[: found.start()]
                    if before.endswith(("`", ": ")) or before == "":
                        yield f"{path.relative_to(PACKAGE)}:{node.lineno}", found[1]


def test_messages_name_commands_that_exist() -> None:
    known = dict(commands())
    groups = {name.split()[0] for name in known if " " in name}
    checked = 0
    for where, mention in mentions():
        words = [word for word in mention.split() if not word.startswith("--")]
        if words[0] in groups and len(words) == 1:
            continue
        name = " ".join(words[:2]) if words[0] in groups else words[0]
        assert name in known, f"{where}: there is no command `seetell {name}`"
        flags = {flag for option in options(known[name]) for flag in (*option.opts, *option.secondary_opts)}
        for flag in re.findall(r"--[a-z-]+", mention):
            assert flag in flags, f"{where}: `seetell {name}` has no option {flag}"
        checked += 1
    assert checked > 10
