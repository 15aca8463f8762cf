"""The papers' models, and how a recipe names them."""

import difflib
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn

from seetell.learn.recipes import RecipeError

KINDS = {
    "two_branch": "two_branch.TwoBranch",
    "visual_semantic": "visual_semantic.VisualSemantic",
    "attentive_match": "attentive_match.AttentiveMatch",
    "sentence_match": "sentence_match.SentenceMatch",
    "attend": "attend.Attend",
    "merge": "merge.Merge",
    "initial": "initial.Initial",
    "convolutional": "convolutional.Convolutional",
    "label_sequence": "label_sequence.LabelSequence",
    "classifier": "classifier.Classifier",
    "grid_classifier": "classifier.GridClassifier",
}


def build(settings: Mapping[str, Any], **given: Any) -> nn.Module:
    """Make the model a recipe's `[model]` table asks for.

    Args:
        settings: `kind` and what the model's constructor takes.
        given: what the data decides (sizes of features and vocabulary); a constructor takes what it needs of it.
    """
    kind = settings.get("kind", "")
    if kind not in KINDS:
        raise RecipeError(f"there is no model {kind!r}", where="[model] kind", remedy=f"There are: {', '.join(KINDS)}")
    module, _, name = KINDS[kind].partition(".")
    constructor = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    known = inspect.signature(constructor).parameters
    chosen = {key: value for key, value in settings.items() if key != "kind"}
    for key in chosen:
        if key not in known or key in given:
            near = difflib.get_close_matches(key, set(known) - set(given), n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"It takes: {', '.join(set(known) - set(given))}"
            raise RecipeError(f"the model {kind} has no setting {key!r}", where="[model]", remedy=remedy)
    if "levels" in given and "levels" not in known:
        where = "[encoder] layout"
        raise RecipeError(f"the model {kind} reads no levels below a grid", where=where, remedy="Set it to grid")
    model: nn.Module = constructor(**chosen, **{key: value for key, value in given.items() if key in known})
    return model
