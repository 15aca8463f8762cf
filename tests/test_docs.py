"""The pages of docs/papers stay true: every file, class, function, recipe, setting, table and command they name exists.

Names are what stands between backticks. Nothing here needs PyTorch: the sources are read, not imported.
"""

import ast
import re
import runpy
import shlex
import tomllib
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import seetell
from seetell.learn.recipes import MODEL_SETTINGS, EncoderSettings, Phase, TextSettings, TrainingSettings

PACKAGE = Path(seetell.__file__).parent
ROOT = PACKAGE.parents[1]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
FILE = re.compile(r"[\w./-]+\.(py|toml|md)")
DASHED = re.compile(r"[a-z0-9_]+(-[a-z0-9*]+)+")
SETTING = re.compile(r"(encoder|text|training|phases|model)\.(\w+)")
CODE = re.compile(r"`([^`]+)`")
IN_FILE = re.compile(r"`(\w+)` \(`([^`]+\.py)`\)")


@cache
def recipes() -> frozenset[str]:
    return frozenset(path.stem for path in (PACKAGE / "learn" / "recipes").glob("*.toml"))


@cache
def tables() -> frozenset[str]:
    return frozenset(runpy.run_path(str(PACKAGE / "learn" / "tables.py"))["TABLES"])


@cache
def dependencies() -> frozenset[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    return frozenset(re.split(r"[\[<>=~ ]", each)[0] for each in listed)


@cache
def settings() -> dict[str, frozenset[str]]:
    """The settings of each section of a recipe; of models, those of every kind."""
    sections = {"encoder": EncoderSettings, "text": TextSettings, "training": TrainingSettings, "phases": Phase}
    known = {name: frozenset(kind.__struct_fields__) for name, kind in sections.items()}
    models = [kind for kinds in MODEL_SETTINGS.values() for kind in kinds.values()]
    known["model"] = frozenset({"kind"}.union(*(kind.__struct_fields__ for kind in models)))
    return known


@cache
def defined(path: Path) -> frozenset[str]:
    """Classes, functions and constants of a file's top level."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names)


@cache
def words_of_the_sources() -> frozenset[str]:
    sources = (path for kind in ("*.py", "*.toml") for path in PACKAGE.rglob(kind))
    return frozenset(word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))


def file(name: str) -> Path | None:
    return next((path for path in (ROOT / name, PACKAGE / name) if path.is_file()), None)


def problem(name: str) -> str:
    """What is wrong with a name; nothing where it exists, or is no name at all."""
    if name.startswith("seetell "):
        return command_problem(name.split()[1:])
    if FILE.fullmatch(name):
        result = name.startswith("docs/results/") and Path(name).stem in tables()  # written when the table is made
        return "" if result or file(name) else "there is no such file"
    if DASHED.fullmatch(name):
        everything = recipes() | tables() | dependencies()
        return "" if any(fnmatch(each, name) for each in everything) else "there is no such recipe, table or package"
    if match := SETTING.match(name.removeprefix("--set ")):
        return "" if match[2] in settings()[match[1]] else "recipes have no such setting"
    if re.fullmatch(r"\w+", name):
        return "" if name in words_of_the_sources() else "the sources do not have it"
    return ""


def command_problem(words: list[str]) -> str:
    from seetell.cli import app

    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        if not words or words[0] not in command.commands:
            return "there is no such command"
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in parameter.opts}
    unknown = [word for word in words if word.startswith("--") and word not in known]
    if unknown:
        return f"the command has no option {unknown[0]}"
    if command.name == "reproduce" and words[0] not in tables():
        return "there is no such table"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = {name: found for name in CODE.findall(text) if (found := problem(name))}
    assert not wrong, wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_are_defined_in_the_files_beside_them(page: Path) -> None:
    pairs = IN_FILE.findall(page.read_text(encoding="utf-8"))
    files = {name: file(path) for name, path in pairs}
    assert all(files.values()), files
    wrong = [f"{name} is not in {path}" for name, path in files.items() if path and name not in defined(path)]
    assert not wrong, wrong


@pytest.mark.parametrize("paper", ["kolluru", "ren", "vaishali", "vilalta", "xu"])
def test_every_recipe_of_a_document_is_on_its_page(paper: str) -> None:
    page = (ROOT / "docs" / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    base = f'extends = "_{paper}'  # or one of several that begin so
    folder = PACKAGE / "learn" / "recipes"
    named = [name for name in recipes() if not name.startswith("_")]
    own = {name for name in named if base in (folder / f"{name}.toml").read_text(encoding="utf-8")}
    assert own
    assert own <= set(CODE.findall(page))


@pytest.mark.parametrize("page", ["README.md", "docs/adapt.md", "docs/library.md"])
def test_commands_of_a_page_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    lines = [*re.findall(r"^    (seetell .*)", text, re.MULTILINE), *re.findall(r"^seetell .*", fenced, re.MULTILINE)]
    written = [line.partition(" #")[0] for line in lines if " | " not in line]
    assert len(written) > 4
    wrong = {line: found for line in written if (found := command_problem(shlex.split(line)[1:]))}
    assert not wrong, wrong


@pytest.mark.parametrize(
    "name",
    [
        *("learn/losses/gone.py", "docs/results/vilalta-table9.md", "fne-xyz", "encoder.colour", "NoSuchLoss"),
        *(
            "seetell learn reproduce vilalta-table9",
            "seetell dance",
            "seetell evaluate RUN --dance",
            "--set model.dance=1",
        ),
    ],
)
def test_what_is_not_there_is_noticed(name: str) -> None:
    assert problem(name)
