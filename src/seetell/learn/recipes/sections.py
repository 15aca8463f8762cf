"""The sections of a recipe that every task shares: `[encoder]`, `[text]` and `[training]`."""

import re
from typing import Annotated, Literal

from msgspec import Meta

from seetell.errors import did_you_mean
from seetell.learn.recipes.decoding import Count, Positive
from seetell.learn.recipes.loss_settings import Above0, NotNegative
from seetell.settings import Settings

LAYOUTS = ("pooled", "grid", "grid:1", "levels", "full_network", "grid+levels")


class EncoderSettings(Settings, frozen=True):
    """Which network encodes the images, and which of its feature layouts the model reads.

    Args:
        name: a timm network, optionally with weights: `vgg16@weights.pth`.
        layout: `pooled`, `grid`, `grid:N`, `levels`, `full_network` or `grid+levels`.
        crops: one crop per image, or the mean over ten.
        view: of one crop: the square in the centre, or the whole image squashed to a square.
        size: side of the square in pixels; 0: the network's own.
        transform: of raw features; "": the layout's usual one.
        components: how many the transform `principal` keeps.
        mirror: in training, mirror half of the images; features of both versions are stored.
        augment: train from randomly cropped and mirrored images instead of stored features.
        train: fine-tune the network jointly, from images.
        frozen_stages: how many of the first stages of a network that is trained stay fixed.
        later_stages: of the layout `grid:N`: train the stages after it as part of the model.
        learning_rate: of a network, or of later stages, that are trained.
    """

    name: str = "tf_efficientnet_lite2"
    layout: str = "pooled"
    crops: Literal[1, 10] = 1
    view: Literal["centre", "whole"] = "centre"
    size: Count = 0
    transform: Literal["", "none", "unit", "standardise", "full_network", "principal"] = ""
    components: Positive = 512
    mirror: bool = False
    augment: bool = False
    train: bool = False
    frozen_stages: Count = 0
    later_stages: bool = False
    learning_rate: Above0 = 1e-5

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS and not re.fullmatch(r"grid:[1-9]\d*", self.layout):
            raise ValueError(f"there is no layout {self.layout!r}. {did_you_mean(self.layout, LAYOUTS)}")
        if self.layout == "grid+levels" and self.transform not in ("", "none"):
            raise ValueError("the layout grid+levels has a transform of its own: leave transform out")

    @property
    def live(self) -> bool:
        """Whether images are read during training."""
        return self.train or self.augment


class TextSettings(Settings, frozen=True):
    """How captions become words, and which words are kept.

    Args:
        tokenizer: `words`, `ptb`, or `pieces` for sentence encoders.
        minimum_count: words that occur less often in the training captions are unknown.
        maximum_size: the most words in the vocabulary; 0: no limit.
        vectors: "": learned from scratch; "default": the vectors installed by pip; otherwise a file.
        extra_words: how many words that only the vectors know are added to the vocabulary.
        maximum_words: training captions are cut to this many words; 0: never.
    """

    tokenizer: Literal["words", "ptb", "pieces"] = "words"
    minimum_count: Positive = 1
    maximum_size: Count = 0
    vectors: str = ""
    extra_words: Count = 0
    maximum_words: Count = 0


class TrainingSettings(Settings, frozen=True):
    """What all phases share.

    Args:
        optimiser: "adam", "adamw" or "rmsprop".
        weight_decay: as the optimiser defines it.
        clip: largest norm of the gradient; 0: not clipped.
        captions: how an epoch goes through the captions: "one" random caption per image, or "all" of them. Retrieval
            also has "together" (an image's captions in one batch); captioning, whose "all" makes batches of one
            length, has "mixed" (lengths) and "images" (all captions of some images per batch).
        average: decay of a running average of the weights, which is then validated and kept; 0: none.
        precision: as in Lightning Fabric.
        seed: of everything random.
        start_from: a run, or a bundle by name or folder, whose weights initialise this run.
    """

    optimiser: Literal["adam", "adamw", "rmsprop"] = "adam"
    weight_decay: NotNegative = 0.0
    clip: NotNegative = 0.0
    captions: Literal["one", "all", "together", "mixed", "images"] = "one"
    average: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    precision: Literal["64-true", "32-true", "16-true", "16-mixed", "bf16-true", "bf16-mixed"] = "32-true"
    seed: Count = 1
    start_from: str = ""
