"""Recipes: one TOML file per row of the papers' tables, with the published settings and a budget for two cores.

A recipe is read in layers, each on top of the one before:

1. the recipe it `extends`, if any: by name, or a file in the same folder;
2. its own settings, which are the published ones;
3. `[dataset.<kind>]`: what the paper sets differently for that dataset (`flickr8k`, `flickr30k`, `coco`, …);
4. `[budget]`, and `[budget.<kind>]` for that dataset: what makes it fit an ordinary computer; `--budget published`
   leaves it out;
5. `--set key=value` on the command line.

Layers 3–5 are dotted keys: `"model.dimensions" = 512`. A key that leads into a list of tables is set in each of them:
`"phases.epochs" = 30` sets the epochs of every phase, `"phases.0.epochs"` those of the first.

All settings are checked when a recipe is read. An error names the setting, the nearest valid one, and the layer it was
written in. Nothing here imports PyTorch.
"""

from seetell.errors import RecipeError
from seetell.learn.recipes.decoding import CaptioningDecoding, DecodingSettings, RetrievalDecoding, TaggingDecoding
from seetell.learn.recipes.layers import BUDGETS, DATASETS, load_recipe, recipe_names
from seetell.learn.recipes.loss_settings import LossSettings
from seetell.learn.recipes.model_settings import MODEL_SETTINGS, ModelSettings
from seetell.learn.recipes.recipe import Phase, Recipe, read_loss_settings, read_model_settings, read_recipe
from seetell.learn.recipes.sections import EncoderSettings, TextSettings, TrainingSettings

__all__ = [
    "BUDGETS",
    "DATASETS",
    "MODEL_SETTINGS",
    "CaptioningDecoding",
    "DecodingSettings",
    "EncoderSettings",
    "LossSettings",
    "ModelSettings",
    "Phase",
    "Recipe",
    "RecipeError",
    "RetrievalDecoding",
    "TaggingDecoding",
    "TextSettings",
    "TrainingSettings",
    "load_recipe",
    "read_loss_settings",
    "read_model_settings",
    "read_recipe",
    "recipe_names",
]
