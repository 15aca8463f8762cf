"""The papers' models: `MODELS` maps the kinds that recipes name to their settings and classes.

A model of your own takes two steps: a `ModelSettings` struct with a `tag`, and a module whose constructor takes
`(settings, inputs)`; then add both to `MODELS`, and the struct to `recipes.MODEL_SETTINGS` of its task.
"""

from collections.abc import Callable
from typing import Any

from torch import nn

from seetell.learn.models.attend import Attend
from seetell.learn.models.attentive_match import AttentiveMatch
from seetell.learn.models.classifier import Classifier, GridClassifier
from seetell.learn.models.convolutional import Convolutional
from seetell.learn.models.initial import Initial
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.label_sequence import LabelSequence
from seetell.learn.models.merge import Merge
from seetell.learn.models.sentence_match import SentenceMatch
from seetell.learn.models.two_branch import TwoBranch
from seetell.learn.models.visual_semantic import VisualSemantic
from seetell.learn.recipes import RecipeError
from seetell.learn.recipes.model_settings import (
    AttendSettings,
    AttentiveMatchSettings,
    ClassifierSettings,
    ConvolutionalSettings,
    GridClassifierSettings,
    InitialSettings,
    LabelSequenceSettings,
    MergeSettings,
    ModelSettings,
    SentenceMatchSettings,
    TwoBranchSettings,
    VisualSemanticSettings,
)

__all__ = ["MODELS", "ModelInputs", "build"]

MODELS: dict[str, tuple[type[ModelSettings], Callable[[Any, ModelInputs], nn.Module]]] = {
    "two_branch": (TwoBranchSettings, TwoBranch),
    "visual_semantic": (VisualSemanticSettings, VisualSemantic),
    "attentive_match": (AttentiveMatchSettings, AttentiveMatch),
    "sentence_match": (SentenceMatchSettings, SentenceMatch),
    "attend": (AttendSettings, Attend),
    "merge": (MergeSettings, Merge),
    "initial": (InitialSettings, Initial),
    "convolutional": (ConvolutionalSettings, Convolutional),
    "label_sequence": (LabelSequenceSettings, LabelSequence),
    "classifier": (ClassifierSettings, Classifier),
    "grid_classifier": (GridClassifierSettings, GridClassifier),
}


def build(settings: ModelSettings, inputs: ModelInputs) -> nn.Module:
    """Build the model that a recipe's `[model]` table describes.

    Args:
        settings: of one kind of model.
        inputs: what the data decides.

    Example:
        >>> model = build(MergeSettings(units=8), ModelInputs(features=16, words=30))
        >>> type(model).__name__
        'Merge'
    """
    if settings.kind not in MODELS:
        raise RecipeError(f"there is no model {settings.kind!r}", where="[model]", remedy="Add it to MODELS")
    if inputs.levels and not isinstance(settings, AttendSettings):
        raise RecipeError(
            f"the model {settings.kind} reads no levels below a grid",
            where="[encoder] layout",
            remedy="Set it to grid",
        )
    _, model = MODELS[settings.kind]
    return model(settings, inputs)
