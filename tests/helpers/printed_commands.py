"""The `seetell` commands that documents print, and whether the real command line accepts them; nothing is run."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```(?:sh|console|bash)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (seetell .*)$", re.MULTILINE)
INLINE = re.compile(r"`(seetell [^`]+)`")


@dataclass(frozen=True)
class Printed:
    """A command as a document prints it.

    Args:
        whole: whether it is a block of its own; a command within a sentence may leave required parts out.
    """

    document: str
    text: str
    whole: bool

    @property
    def words(self) -> list[str]:
        """What follows `seetell`."""
        return shlex.split(self.text, comments=True)[1:]


def printed_commands(path: Path) -> list[Printed]:
    """All commands of a document."""
    name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    blocks = [line for block in FENCED.findall(text) for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    whole = [line.removeprefix("$ ") for line in blocks if line.removeprefix("$ ").startswith("seetell ")]
    inline = [" ".join(found.split()) for found in INLINE.findall(FENCED.sub("", text))]
    found = [Printed(name, line, whole=True) for line in (*whole, *INDENTED.findall(text))]
    return [*(one for line in found for one in _parts(line)), *(Printed(name, each, whole=False) for each in inline)]


def _parts(command: Printed) -> Iterator[Printed]:
    """The commands of a line with pipes, redirections or `&&`."""
    words = shlex.split(command.text, comments=True)
    part: list[str] = []
    for word in [*words, "|"]:
        if word in ("|", "&&", ";", ">", ">>", "&"):
            if part[:1] == ["seetell"]:
                yield Printed(command.document, shlex.join(part), command.whole)
            part = []
        else:
            part.append(word)


def problem(command: Printed) -> str:
    """Why the command line refuses a command; "" if it does not."""
    return refused(command.words, whole=command.whole)


def refused(words: list[str], *, whole: bool = True) -> str:
    """Parse the words after `seetell` with the real app, including the types and choices of options."""
    from seetell.cli import app

    found: Any = typer.main.get_command(app)
    while commands := getattr(found, "commands", None):
        if not words or words[0].startswith("-"):
            break
        if words[0] not in commands:
            return f"there is no command {words[0]!r}"
        found, words = commands[words[0]], words[1:]
    try:
        found.make_context(found.name, [word for word in words if word != "…"])
    except Exception as error:  # typer brings its own copy of click's classes
        if not hasattr(error, "format_message"):
            raise
        message: str = error.format_message()
        partial = type(error).__name__ in ("MissingParameter", "NoArgsIsHelpError", "BadOptionUsage") and not whole
        return "" if partial or "does not exist" in message else message
    return ""
