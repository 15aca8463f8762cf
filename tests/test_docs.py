"""The pages stay true: every file, name, recipe, setting, table and command that they print exists.

Names are words between backticks. A class or function must be defined in the file that is named next to it. Nothing
here needs PyTorch: the sources are read, not imported.
"""

import ast
import re
import tomllib
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import seetell
from helpers.printed_commands import DOCUMENTS, Printed, printed_commands, refused
from helpers.printed_commands import problem as command_problem

PACKAGE = Path(seetell.__file__).parent
ROOT = PACKAGE.parents[1]
RECIPES = PACKAGE / "learn" / "recipes"
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
FILE = re.compile(r"[\w./-]+\.(py|toml|md)")
DASHED = re.compile(r"[a-z0-9_*]+(-[a-z0-9*]+)+")
SETTING = re.compile(r"(encoder|text|training|phases|model|decoding)\.(\w+)")
CODE = re.compile(r"`([^`]+)`")
DEFINED = re.compile(r"((?:`\w+`(?:,? and |, )?)+)\s\(`([^`]+\.py)`\)")
DATASETS = {"scenes", "flickr8k", "flickr30k", "coco"}
FOLDERS = {"docs", "src/seetell"}
SECTIONS = {
    "encoder": ("sections.py", "EncoderSettings"),
    "text": ("sections.py", "TextSettings"),
    "training": ("sections.py", "TrainingSettings"),
    "phases": ("recipe.py", "Phase"),
    "model": ("model_settings.py", "*Settings"),
    "decoding": ("decoding.py", "*Decoding"),
}


@cache
def recipes() -> frozenset[str]:
    return frozenset(path.stem for path in RECIPES.glob("*.toml"))


@cache
def tables() -> frozenset[str]:
    return frozenset(path.name for path in (ROOT / "docs" / "results" / "rows").iterdir() if path.is_dir())


@cache
def rows() -> frozenset[str]:
    records = (ROOT / "docs" / "results" / "rows").glob("*/*.json")
    return frozenset(path.name.partition(".")[0] for path in records)


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
    """The settings of each section of a recipe: the fields of its classes."""
    known = {}
    for section, (module, pattern) in SECTIONS.items():
        tree = ast.parse((RECIPES / module).read_text(encoding="utf-8"))
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and fnmatch(node.name, pattern)]
        fields = [each.target for node in classes for each in node.body if isinstance(each, ast.AnnAssign)]
        known[section] = frozenset(field.id for field in fields if isinstance(field, ast.Name))
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


def file(name: str) -> Path | None:
    return next((path for path in (ROOT / name, PACKAGE / name) if path.is_file()), None)


def definitions(text: str) -> list[tuple[str, str]]:
    """Names and the files they are said to be in: `A`, `B` (`file.py`)."""
    return [(name, path) for names, path in DEFINED.findall(text) for name in CODE.findall(names)]


def undefined(text: str) -> list[str]:
    """Definitions that are not in the files named next to them."""
    found = [(name, path, file(path)) for name, path in definitions(text)]
    return [f"{name} is not in {path}" for name, path, source in found if source is None or name not in defined(source)]


def problem(name: str, text: str = "") -> str:
    """What is wrong with a word between backticks; "" if it exists, or is not a name.

    Args:
        text: the page, which must name the file of a class or function next to it.
    """
    if name.startswith("seetell "):
        return command_problem(Printed("", name, whole=False)) or _unknown_table(name)
    if FILE.fullmatch(name):
        return "" if file(name) else "there is no such file"
    if DASHED.fullmatch(name):
        everything = recipes() | tables() | dependencies() | rows()
        return "" if any(fnmatch(each, name) for each in everything) else "there is no such recipe, table or package"
    if match := SETTING.match(name.removeprefix("--set ")):
        return "" if match[2] in settings()[match[1]] else "recipes have no such setting"
    if re.fullmatch(r"\w+", name) and name not in recipes() | tables() | DATASETS | FOLDERS | set(SECTIONS):
        return "" if name in dict(definitions(text)) else "the file that defines it is not named next to it"
    return ""


def _unknown_table(command: str) -> str:
    words = command.split()
    unknown = words[1:3] == ["learn", "reproduce"] and words[3] not in tables()
    return "there is no such table" if unknown else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_on_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = {name: found for name in CODE.findall(text) if (found := problem(name, text))}
    assert not wrong, wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_are_defined_in_the_files_next_to_them(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(definitions(text)) > 8
    assert undefined(text) == []


@pytest.mark.parametrize("paper", ["kolluru", "ren", "vaishali", "vilalta", "xu"])
def test_every_recipe_of_a_paper_is_on_its_page(paper: str) -> None:
    page = (ROOT / "docs" / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    base = f'extends = "_{paper}'  # or one of several with this prefix
    named = [name for name in recipes() if not name.startswith("_")]
    own = {name for name in named if base in (RECIPES / f"{name}.toml").read_text(encoding="utf-8")}
    assert own
    assert own <= set(CODE.findall(page))


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_printed_command_parses(page: Path) -> None:
    wrong = {each.text: found for each in printed_commands(page) if (found := command_problem(each))}
    assert not wrong, wrong


def test_commands_are_found_in_the_documents() -> None:
    found = {page.relative_to(ROOT).as_posix(): len(printed_commands(page)) for page in DOCUMENTS}
    assert found["README.md"] > 4
    assert found["docs/adapt.md"] > 4
    assert found["docs/results/vilalta-table2.md"] > 4
    assert found["docs/results/runtime.md"] > 4


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_scripts_of_printed_commands_exist(page: Path) -> None:
    scripts = set(re.findall(r"\bpython ((?:benchmarks|tools|examples)/\S+\.py)", page.read_text(encoding="utf-8")))
    assert [script for script in sorted(scripts) if not (ROOT / script).is_file()] == []


@pytest.mark.parametrize(
    "name",
    [
        *("learn/losses/gone.py", "docs/results/vilalta-table9.md", "fne-xyz", "encoder.colour", "NoSuchLoss"),
        "TwoBranch",  # defined, but in no file that is named next to it
        *(
            "seetell learn reproduce vilalta-table9",
            "seetell dance",
            "seetell evaluate RUN --dance",
            "--set model.dance=1",
        ),
    ],
)
def test_what_does_not_exist_is_noticed(name: str) -> None:
    assert problem(name)


def test_a_name_in_the_wrong_file_is_noticed() -> None:
    right = "`TwoBranch` (`learn/models/two_branch.py`)"
    assert undefined(right) == []
    assert problem("TwoBranch", right) == ""
    assert undefined("`TwoBranch` (`learn/models/attend.py`)") == ["TwoBranch is not in learn/models/attend.py"]
    assert undefined("`Softmax`, `Nothing` (`learn/losses/tags.py`)") == ["Nothing is not in learn/losses/tags.py"]


@pytest.mark.parametrize(
    "command",
    [
        "caption one.jpg --bundle x",
        "learn export RUN --out MODEL --smaller int8",
        "evaluate RUN --data flickr8k:PATH --split test --beam three",
        "learn train fne-mh --data flickr8k:PATH",  # --out is missing
        "learn reproduce vilalta-table2 --data flickr8k:PATH --out DIR --seed none",
    ],
)
def test_commands_with_wrong_options_are_noticed(command: str) -> None:
    assert refused(command.split())
