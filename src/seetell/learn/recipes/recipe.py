"""A recipe's settings, all checked when they are read: nothing is encoded or trained with a mistaken one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from seetell.errors import RecipeError, did_you_mean
from seetell.learn.recipes.decoding import (
    CaptioningDecoding,
    Count,
    DecodingSettings,
    Positive,
    RetrievalDecoding,
    TaggingDecoding,
)
from seetell.learn.recipes.loss_settings import (
    CAPTION_LOSS_SETTINGS,
    RANKING_LOSS_SETTINGS,
    SEQUENCE_LOSS_SETTINGS,
    TAG_LOSS_SETTINGS,
    Above0,
    CrossEntropySettings,
    HardAttentionSettings,
    LossSettings,
)
from seetell.learn.recipes.model_settings import (
    MODEL_SETTINGS,
    AttendSettings,
    ConvolutionalSettings,
    LabelSequenceSettings,
    ModelSettings,
    Share,
)
from seetell.learn.recipes.sections import EncoderSettings, TextSettings, TrainingSettings
from seetell.settings import Settings, differences, flatten, read, read_kind

if TYPE_CHECKING:
    ReadModel: TypeAlias = ModelSettings
    ReadLoss: TypeAlias = LossSettings
    ReadDecoding: TypeAlias = DecodingSettings
else:  # which struct reads these tables depends on the task and their `kind`: `read_recipe` has read them already
    ReadModel = ReadLoss = ReadDecoding = Any

TaskName = Literal["retrieval", "captioning", "tagging"]
BudgetName = Literal["two-cores", "published"]
DECODING: dict[str, type[DecodingSettings]] = {
    "retrieval": RetrievalDecoding,
    "captioning": CaptioningDecoding,
    "tagging": TaggingDecoding,
}
CAPTIONS = {"retrieval": ("one", "all", "together"), "captioning": ("one", "all", "mixed", "images")}
DESCRIPTIVE = ("paper", "row", "about", "tune", "published")  # keys that change nothing about a run


class Phase(Settings, frozen=True):
    """One stage of training; a curriculum has several, each starting from the best epoch of the one before.

    Args:
        loss: its kind and settings.
        epochs: how many.
        learning_rate: of the model.
        batch: captions or images per batch.
        schedule: "constant", or "cosine": down to a hundredth over the phase.
        warmup: share of the phase over which the learning rate rises from zero.
        patience: epochs without a better validation score before the phase ends; 0: never early.
        blend: share of the initial weights in those that are validated and kept.
    """

    loss: ReadLoss
    epochs: Positive
    learning_rate: Above0
    batch: Positive = 128
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: Share = 0.0
    patience: Count = 0
    blend: Share = 0.0


class Recipe(Settings, frozen=True):
    """A row of a paper's table, ready to train.

    Args:
        name: what the command line calls it.
        task: "retrieval", "captioning" or "tagging".
        model: the settings of one kind of model.
        phases: at least one.
        paper: where it comes from.
        row: its label in the paper's table.
        about: one paragraph.
        encoder: how images become features.
        text: how captions become words.
        training: what all phases share.
        decoding: how captions or labels are generated.
        tune: the values that `seetell learn tune` may try, by setting.
        published: the paper's figures, by dataset.
        budget: whose settings these are: "two-cores" or "published".
    """

    name: str
    task: TaskName
    model: ReadModel
    phases: Annotated[tuple[Phase, ...], Meta(min_length=1)]
    paper: str = ""
    row: str = ""
    about: str = ""
    encoder: EncoderSettings = EncoderSettings()
    text: TextSettings = TextSettings()
    training: TrainingSettings = TrainingSettings()
    decoding: ReadDecoding = RetrievalDecoding()
    tune: dict[str, Any] = msgspec.field(default_factory=dict)
    published: dict[str, Any] = msgspec.field(default_factory=dict)
    budget: BudgetName = "two-cores"

    def to_json(self) -> dict[str, Any]:
        """All settings as plain dictionaries, lists, text and numbers."""
        content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return content

    @staticmethod
    def from_json(content: Mapping[str, Any], where: str = "recipe") -> "Recipe":
        """The recipe that `to_json` wrote."""
        return read_recipe(content, where)

    def with_settings(self, **sections: Mapping[str, Any]) -> "Recipe":
        """A recipe with some settings changed, checked like those of a file.

        Args:
            sections: new values by section: `decoding={"beam": 1}`.
        """
        content = self.to_json()
        return read_recipe(content | {name: {**content[name], **values} for name, values in sections.items()})

    def changes(self, other: "Recipe") -> dict[str, tuple[Any, Any]]:
        """The settings whose values differ between two recipes: dotted key → (this recipe's, the other's).

        Descriptions and published figures are left out: they change nothing about a run.
        """
        mine, others = (
            {key: value for key, value in each.to_json().items() if key not in DESCRIPTIVE} for each in (self, other)
        )
        before, after = flatten(mine), flatten(others)
        return {key: (before.get(key), after.get(key)) for key in differences(mine, others)}


def read_recipe(content: Mapping[str, Any], where: str = "") -> Recipe:
    """Check all settings of a recipe.

    Args:
        content: tables as TOML or JSON has them, all layers merged.
        where: the file, for errors.

    Example:
        >>> phase = {"loss": {"kind": "max"}, "epochs": 1, "learning_rate": 0.001}
        >>> recipe = {"name": "mine", "task": "retrieval", "model": {"kind": "visual_semantic"}, "phases": [phase]}
        >>> read_recipe(recipe).phases[0].loss
        MaxOfHingesSettings(margin=0.2, reduction='sum')
    """
    settings = dict(content)
    task = settings.get("task")
    if task is not None and task not in DECODING:
        raise RecipeError(f"task is {task!r}", where=where, remedy=did_you_mean(str(task), DECODING))
    if task is not None:
        settings["decoding"] = read(
            DECODING[task], settings.get("decoding", {}), where=_join(where, "[decoding]"), error=RecipeError
        )
        if "model" in settings:
            settings["model"] = _read_kind(MODEL_SETTINGS[task], settings["model"], "model", _join(where, "[model]"))
        if isinstance(settings.get("phases"), list | tuple):
            settings["phases"] = [
                _read_loss(phase, settings, _join(where, f"[[phases]] {number}"))
                for number, phase in enumerate(settings["phases"])
            ]
    recipe = read(Recipe, settings, where=where, error=RecipeError)
    _check_together(recipe, where)
    return recipe


def read_model_settings(table: Mapping[str, Any], where: str = "[model]") -> ModelSettings:
    """The settings of one kind of model, of any task.

    Example:
        >>> read_model_settings({"kind": "merge", "units": 64}).units
        64
    """
    kinds = {kind: settings for kinds in MODEL_SETTINGS.values() for kind, settings in kinds.items()}
    settings: ModelSettings = _read_kind(kinds, table, "model", where)
    return settings


def read_loss_settings(table: Mapping[str, Any], where: str = "loss") -> LossSettings:
    """The settings of one kind of loss, of any task.

    Example:
        >>> read_loss_settings({"kind": "max", "margin": 0.1}).margin
        0.1
    """
    kinds = {**RANKING_LOSS_SETTINGS, **CAPTION_LOSS_SETTINGS, **SEQUENCE_LOSS_SETTINGS, **TAG_LOSS_SETTINGS}
    settings: LossSettings = _read_kind(kinds, table, "loss", where)
    return settings


def _join(where: str, section: str) -> str:
    return f"{where}: {section}" if where else section


def _read_kind(kinds: Mapping[str, type[Any]], table: object, what: str, where: str) -> Any:
    if not isinstance(table, Mapping):
        raise RecipeError(f"{what} is {table!r}; expected a table", where=where)
    return read_kind(kinds, table, what=what, where=where, error=RecipeError)


def _read_loss(phase: object, settings: Mapping[str, Any], where: str) -> object:
    """A phase with its loss read, as one of those that the task and the model take."""
    if not isinstance(phase, Mapping) or "loss" not in phase:
        return phase
    model = settings.get("model")
    match settings["task"]:
        case "retrieval":
            kinds = RANKING_LOSS_SETTINGS
        case "captioning":
            kinds = CAPTION_LOSS_SETTINGS
        case _:
            kinds = SEQUENCE_LOSS_SETTINGS if isinstance(model, LabelSequenceSettings) else TAG_LOSS_SETTINGS
    kind = phase["loss"].get("kind") if isinstance(phase["loss"], Mapping) else None
    if (
        kind in {**SEQUENCE_LOSS_SETTINGS, **TAG_LOSS_SETTINGS}
        and kind not in kinds
        and isinstance(model, ModelSettings)
    ):
        problem = f"the model {model.kind} is not trained by the loss {kind!r}"
        raise RecipeError(problem, where=where, remedy=f"Choose one of: {', '.join(kinds)}")
    return {**phase, "loss": _read_kind(kinds, phase["loss"], "loss", f"{where} loss")}


def _check_together(recipe: Recipe, where: str) -> None:
    """Settings that are valid alone, but not with each other."""
    how, known = recipe.training.captions, CAPTIONS.get(recipe.task, ())
    if known and how not in known:
        problem = f"training.captions is {how!r}, which the task {recipe.task} does not have"
        raise RecipeError(problem, where=where, remedy=f"Choose one of: {', '.join(known)}")
    if recipe.text.tokenizer == "pieces" and recipe.model.kind != "sentence_match":
        problem = "text.tokenizer is 'pieces', which only sentence encoders read"
        raise RecipeError(problem, where=where, remedy="Choose one of: words, ptb")
    for phase in recipe.phases:
        _check_attention(phase.loss, recipe.model, where)


def _check_attention(loss: LossSettings, model: ModelSettings, where: str) -> None:
    """Losses that constrain or sample the attention need a model that has it."""
    hard = isinstance(model, AttendSettings) and model.attention == "hard"
    if isinstance(loss, HardAttentionSettings) and not hard:
        problem, remedy = "the loss hard_attention needs another model", "Set kind = 'attend' and attention = 'hard'"
        raise RecipeError(problem, where=_join(where, "[model]"), remedy=remedy)
    attends = isinstance(model, AttendSettings | ConvolutionalSettings)
    if isinstance(loss, CrossEntropySettings) and loss.doubly_stochastic and not attends:
        problem, remedy = (
            "the loss setting doubly_stochastic needs another model",
            "Set kind = 'attend', or leave it out",
        )
        raise RecipeError(problem, where=_join(where, "[model]"), remedy=remedy)
