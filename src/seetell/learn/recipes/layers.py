"""The layers a recipe is read in, and which of them a mistake comes from."""

import copy
import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from seetell.errors import RecipeError, did_you_mean
from seetell.learn.recipes.recipe import BudgetName, Recipe, read_recipe

BUDGETS: tuple[str, ...] = get_args(BudgetName)
OVERRIDES = ("dataset", "budget")  # tables whose settings apply to one dataset, or one budget
DATASETS = ("flickr8k", "flickr30k", "coco", "table", "scenes")


@dataclass(frozen=True)
class Layer:
    """Some settings of a recipe, and where they were written.

    Args:
        where: the file and section, or the option of the command line.
        content: tables, or values by dotted key for `how = "set"`.
        how: "merge" tables into those below, "replace" whole tables, or "set" dotted keys.
    """

    where: str
    content: Mapping[str, Any]
    how: Literal["merge", "replace", "set"] = "merge"

    def over(self, below: Mapping[str, Any]) -> dict[str, Any]:
        """The settings below with these on top."""
        if self.how == "merge":
            return _merged(below, self.content)
        if self.how == "replace":
            return {**below, **self.content}
        merged = copy.deepcopy(dict(below))
        for key, value in self.content.items():
            _set(merged, key, value, self.where)
        return merged


def recipe_names() -> list[str]:
    """The names of the recipes that come with the package.

    Example:
        >>> "merge" in recipe_names()
        True
    """
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in files(__package__).iterdir()
        if entry.name.endswith(".toml") and not entry.name.startswith("_")
    )


def load_recipe(
    name: str | Path,
    *,
    dataset: str = "",
    budget: str = "two-cores",
    settings: Iterable[str] = (),
    under: Mapping[str, Mapping[str, Any]] | None = None,
) -> Recipe:
    """Read a recipe by name or path, and check all its settings.

    Args:
        name: a recipe of the package (see `recipe_names`), or a TOML file.
        dataset: the kind of dataset it will be trained on (`flickr8k`, …), for settings that depend on it.
        budget: "two-cores" or "published".
        settings: overrides as on the command line, `key=value` with a TOML value (a bare word is text).
        under: sections that replace the recipe's own, below `settings`.

    Example:
        >>> recipe = load_recipe("merge", settings=["phases.epochs=3"])
        >>> recipe.task, recipe.phases[0].epochs
        ('captioning', 3)
    """
    if budget not in BUDGETS:
        raise RecipeError(f"there is no budget {budget!r}", remedy=did_you_mean(budget, BUDGETS))
    layers, main = _file_layers(str(name), dataset, budget), _where(str(name))
    if under:
        layers.append(Layer(main, {section: dict(values) for section, values in under.items()}, "replace"))
    layers.extend(_override(setting) for setting in settings)
    layers.append(Layer(main, {"budget": budget}, "set"))
    try:
        return read_recipe(_stacked(layers))
    except RecipeError as error:
        where = _origin(error, layers) or main
        where = where if where.startswith("--set") or not error.where else f"{where}: {error.where}"
        raise RecipeError(error.problem, where=where, remedy=error.remedy) from None


def _where(name: str) -> str:
    path = Path(name)
    return name if path.suffix == ".toml" or path.is_file() else f"recipe {name}"


def _stacked(layers: Sequence[Layer]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for layer in layers:
        content = layer.over(content)
    return content


def _origin(error: RecipeError, layers: Sequence[Layer]) -> str:
    """Where the first layer was written with which the same error arises."""
    if error.where.startswith("--set"):
        return error.where
    if error.problem.endswith("is missing"):  # from the base as well, but the recipe itself should have it
        return ""
    for count in range(1, len(layers) + 1):
        try:
            read_recipe(_stacked(layers[:count]))
        except RecipeError as found:
            if (found.problem, found.where) == (error.problem, error.where):
                return layers[count - 1].where
    return ""


def _override(setting: str) -> Layer:
    """`--set key=value` as a layer."""
    key, separator, value = setting.partition("=")
    if not separator:
        raise RecipeError(f"--set {setting} has no '='", remedy="Write it as --set model.dimensions=512")
    return Layer(f"--set {setting}", {key.strip(): _value(value.strip())}, "set")


def _file_layers(name: str, dataset: str, budget: str) -> list[Layer]:
    """A recipe's own settings over those it extends, then those for the dataset, then those of the budget."""
    layers, content = _read_file(name), dict[str, Any]()
    for layer in layers:
        content = layer.over(content)
    where, for_datasets, small = layers[-1].where, content.get("dataset", {}), dict(content.get("budget", {}))
    own = [Layer(each.where, {k: v for k, v in each.content.items() if k not in OVERRIDES}) for each in layers]
    own.append(Layer(f"{where}: [dataset.{dataset}]", for_datasets.get(dataset, {}), "set"))
    for_budgets = {kind: small.pop(kind) for kind in DATASETS if kind in small}
    if budget == "two-cores":
        own.append(Layer(f"{where}: [budget]", small, "set"))
        own.append(Layer(f"{where}: [budget.{dataset}]", for_budgets.get(dataset, {}), "set"))
    return own


def _read_file(name: str) -> list[Layer]:
    """The tables of a recipe's file, after those of the recipe it extends."""
    path, where = Path(name), _where(name)
    if path.suffix == ".toml" or path.is_file():
        if not path.is_file():
            raise RecipeError("there is no such recipe file", where=name)
        text = path.read_text(encoding="utf-8")
    else:
        source = files(__package__) / f"{name}.toml"
        if not source.is_file():
            near = difflib.get_close_matches(name, recipe_names(), n=3)  # names differ by a letter or two
            remedy = f"Did you mean {' or '.join(near)}?" if near else f"Choose one of: {', '.join(recipe_names())}"
            raise RecipeError(f"there is no recipe {name!r}", remedy=remedy)
        text = source.read_text(encoding="utf-8")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"this is not TOML: {error}", where=where) from None
    content.setdefault("name", path.stem)
    extended = content.pop("extends", "")
    sibling = path.parent / extended  # a file may extend another in its folder
    base = _read_file(str(sibling) if extended.endswith(".toml") else extended) if extended else []
    return [*base, Layer(where, content)]


def _merged(below: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in top.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _set(content: Any, key: str, value: Any, where: str) -> None:
    """Set a dotted key; a name met at a list sets it in every element."""
    head, _, rest = key.partition(".")
    if isinstance(content, list):
        if head.isdigit():
            if int(head) >= len(content):
                raise RecipeError(f"{key!r}: there is no element {head}", where=where)
            if rest:
                _set(content[int(head)], rest, value, where)
            else:
                content[int(head)] = value
        else:
            for element in content:
                _set(element, key, value, where)
    elif not isinstance(content, dict):
        raise RecipeError(f"{key!r} leads into a plain value", where=where)
    elif rest:
        _set(content.setdefault(head, {}), rest, value, where)
    else:
        content[head] = value


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
