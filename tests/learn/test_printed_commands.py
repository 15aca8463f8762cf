"""The commands that documents and records print: their recipes, settings, tables and rows exist."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from helpers.printed_commands import DOCUMENTS, ROOT, Printed, printed_commands, refused
from seetell.errors import SeetellError
from seetell.learn.recipes import BUDGETS, load_recipe
from seetell.learn.reproduction.tables import FILES, label, table


def options(words: list[str], name: str) -> list[str]:
    """The values of an option."""
    return [value for option, value in pairwise(words) if option == name]


def content_problem(command: Printed) -> str:
    """What a command names that does not exist: a recipe, a setting, a table or a row."""
    words = command.words
    kinds = [spec.partition(":")[0] for spec in options(words, "--data")]
    dataset = next(iter([*options(words, "--dataset"), *kinds]), "flickr8k")
    dataset = dataset if dataset in ("flickr8k", "flickr30k", "coco", "table", "scenes") else "flickr8k"
    settings = [each.replace("=RUN", "=runs/run") for each in options(words, "--set")]
    try:
        if words[:2] == ["learn", "train"] and len(words) > 2 and not words[2].isupper():
            recipe = ROOT / words[2] if words[2].endswith(".toml") else words[2]
            load_recipe(recipe, dataset=dataset, settings=settings)
        elif words[:2] == ["learn", "reproduce"] and len(words) > 2 and not words[2].isupper():
            found = table(words[2])
            names = {word.lower() for row in found.rows if row.runs for word in (row.name, label(row))}
            asked = [row.strip().lower() for value in options(words, "--rows") for row in value.split(",")]
            if unknown := [row for row in asked if row not in names]:
                return f"{found.name} has no row {unknown[0]}"
            if unknown := [each for each in options(words, "--with") if each.partition("=")[0] not in FILES]:
                return f"there is no file {unknown[0]}"
            if unknown := [each for each in options(words, "--budget") if each not in BUDGETS]:
                return f"there is no budget {unknown[0]}"
            row = next(row for row in found.rows if not asked or asked[0] in (row.name, label(row).lower()))
            load_recipe(row.recipe or "merge", dataset=dataset, settings=settings)
    except SeetellError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_printed_commands_name_exists(page: Path) -> None:
    wrong = {each.text: found for each in printed_commands(page) if (found := content_problem(each))}
    assert not wrong, wrong


def test_commands_of_records_parse() -> None:
    paths = sorted((ROOT / "docs" / "results" / "rows").glob("*/*.json"))
    commands = {json.loads(path.read_text(encoding="utf-8"))["command"] for path in paths}
    assert len(commands) == len(paths) > 150
    wrong = {}
    for text in sorted(commands):
        command = Printed("", text, whole=True)
        if found := refused(command.words) or content_problem(command):
            wrong[text] = found
    assert not wrong, wrong


@pytest.mark.parametrize(
    "text",
    [
        "seetell learn train no-such-recipe --data flickr8k:PATH --out RUN",
        "seetell learn train fne-mh --data flickr8k:PATH --set model.dance=1 --out RUN",
        "seetell learn train fne-mh --data flickr8k:PATH --set phases.epochs=many --out RUN",
        "seetell learn reproduce vilalta-table9 --data flickr8k:PATH --out DIR",
        "seetell learn reproduce vilalta-table2 --data flickr8k:PATH --out DIR --rows fne-xx",
        "seetell learn reproduce xu-table1 --data flickr8k:PATH --out DIR --with vgg19=FILE",
        "seetell learn reproduce xu-table1 --data flickr8k:PATH --out DIR --budget huge",
    ],
)
def test_what_does_not_exist_is_noticed(text: str) -> None:
    assert content_problem(Printed("", text, whole=True))
