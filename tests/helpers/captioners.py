"""Small captioners, and inputs for them."""

from collections.abc import Callable

import torch
from torch import Tensor

from seetell.learn.models import ModelInputs, build
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.recipes import read_model_settings

WORDS, FEATURES, PLACES = 23, 12, 6
LEVELS = 15  # features of stages, in two rows after the locations
START = 1
SETTINGS = {
    "merge": {"kind": "merge", "units": 32, "word_dimensions": 8},
    "initial": {"kind": "initial", "units": 32, "word_dimensions": 16},
    "convolutional": {"kind": "convolutional", "width": 32, "word_dimensions": 16, "kernel": 3},
    "attend-soft": {"kind": "attend", "units": 32, "word_dimensions": 16, "attention_dimensions": 16},
    "attend-hard": {"kind": "attend", "attention": "hard", "gate": False, "units": 32, "word_dimensions": 16},
    "attend-narrow": {"kind": "attend", "units": 32, "word_dimensions": 16, "annotation_dimensions": 8, "tied": True},
    "attend-levels": {"kind": "attend", "units": 32, "word_dimensions": 16, "levels_dropout": 0.0},
}
ATTENDING = [name for name in SETTINGS if name.startswith(("attend", "convolutional"))]
Make = Callable[..., CaptionModel]


def make(name: str, seed: int = 0, **more: object) -> CaptionModel:
    torch.manual_seed(seed)
    model = build(read_model_settings({**SETTINGS[name], **more}), given(name))
    assert isinstance(model, CaptionModel)
    return model.eval()


def given(name: str, vectors: Tensor | None = None) -> ModelInputs:
    """What the data decides."""
    levels = LEVELS if name == "attend-levels" else 0
    return ModelInputs(features=FEATURES, words=WORDS, levels=levels, vectors=vectors)


def images(name: str, count: int = 4) -> Tensor:
    places = PLACES + 2 if name == "attend-levels" else PLACES
    shape = (count, places, FEATURES) if name in ATTENDING else (count, FEATURES)
    return torch.randn(shape, generator=torch.Generator().manual_seed(5))


def captions(count: int = 4, length: int = 7) -> Tensor:
    tokens = torch.randint(2, WORDS, (count, length), generator=torch.Generator().manual_seed(6))
    tokens[:, 0] = START
    return tokens
