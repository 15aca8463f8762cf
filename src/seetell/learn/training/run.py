"""A run's folder, opened: the recipe, the vocabulary, and the trained model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from seetell import __version__
from seetell.data import Dataset
from seetell.errors import SeetellError
from seetell.files import AnyPath
from seetell.images import Preparation
from seetell.learn.encoders import LayoutSpec
from seetell.learn.models import ModelInputs, build
from seetell.learn.recipes import Recipe
from seetell.learn.training import checkpoints
from seetell.learn.training.checkpoints import CheckpointError, read_json
from seetell.learn.training.data import TrainingData, empty_transform
from seetell.learn.training.features import Features, make_features, open_data
from seetell.learn.training.task import Setup
from seetell.progress import SILENT, Progress
from seetell.text import Vocabulary

FORMAT = 2


@dataclass(frozen=True)
class Run:
    """A trained model with everything that belongs to it; made by `train`, or by `Run.open`.

    Args:
        path: the run's folder.
        data: the addresses of the datasets it was trained on.
        encoder_fingerprint: of the encoder and its weights, before any fine-tuning.
        sizes: sizes of the model that depend on the training data.

    Example:
        >>> run = Run.open("runs/tags")
        >>> run.recipe.name, run.finished
        ('bce', True)
        >>> model = run.model()
    """

    path: Path
    recipe: Recipe
    data: tuple[str, ...]
    encoder_fingerprint: str
    preparation: Preparation
    layout: LayoutSpec
    vocabulary: Vocabulary | None
    sizes: Mapping[str, int]

    @classmethod
    def open(cls, path: AnyPath) -> "Run":
        """Open a run's folder."""
        folder = Path(path)
        where = str(folder / "run.json")
        content = read_json(folder / "run.json")
        if content.get("format") != FORMAT:
            raise CheckpointError(
                "this run was written by another version of seetell", where=where, remedy="Train it again"
            )
        words = folder / "vocabulary.txt"
        layout = content["layout"]
        return cls(
            folder,
            Recipe.from_json(content["recipe"], where=where),
            tuple(content["data"]),
            content["encoder_fingerprint"],
            Preparation.from_json(content["preparation"], where=where),
            LayoutSpec(layout["layout"], tuple(layout["shape"]), tuple(layout["sections"]), tuple(layout["names"])),
            Vocabulary.load(words) if words.exists() else None,
            content["sizes"],
        )

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, {self.recipe.name})"

    def model(self, which: str = "best") -> nn.Module:
        """The model in evaluation mode.

        Args:
            which: the checkpoint whose weights it gets, "best" or "last".
        """
        model = build_model(self.recipe, self.layout, self.sizes)
        weights = checkpoints.model_weights(self.path, which)
        try:
            model.load_state_dict(weights)
        except RuntimeError:
            raise CheckpointError(
                f"the weights do not match the model {self.recipe.model.kind!r} of this version",
                where=str(self.path),
                remedy="Use the version of seetell that trained it, or train it again",
            ) from None
        return model.eval()

    @property
    def finished(self) -> bool:
        """Whether every phase was trained to its end."""
        if not checkpoints.exists(self.path, "last"):
            return False
        progress, last = checkpoints.state(self.path, "last")["progress"], self.recipe.phases[-1]
        over = progress["epoch"] >= last.epochs or (last.patience and progress["since_best"] >= last.patience)
        return progress["phase"] == len(self.recipe.phases) - 1 and bool(over)

    def history(self) -> list[dict[str, Any]]:
        """One record per epoch: phase, epoch, loss, validation score and metrics; empty before the first epoch ends."""
        if not checkpoints.exists(self.path, "last"):
            return []
        history: list[dict[str, Any]] = checkpoints.state(self.path, "last")["progress"]["history"]
        return history

    @property
    def best(self) -> dict[str, Any] | None:
        """The history's record with the best validation score; None before the first epoch ends."""
        return max(self.history(), key=lambda record: record["score"], default=None)

    def encode(
        self, data: Sequence[str] | Dataset, split: str, *, store: Path | None = None, progress: Progress = SILENT
    ) -> TrainingData:
        """A dataset's split with features of the encoder that this run was trained with.

        Args:
            data: addresses as `open_dataset` takes them, or a dataset.
            store: the folder of feature stores; None: the default.
        """
        dataset = data if isinstance(data, Dataset) else open_data(data)
        features = make_features(self.recipe, dataset, (split,), store=store, progress=progress)
        if features.store.spec.encoder_fingerprint != self.encoder_fingerprint:
            raise SeetellError(
                f"the encoder {self.recipe.encoder.name} has different weights from those this run was trained with",
                where=str(self.path),
                remedy="Use the weights it was trained with, or train again",
            )
        return TrainingData(self.recipe, dataset, features)


def build_model(recipe: Recipe, layout: LayoutSpec, sizes: Mapping[str, int], **more: Any) -> nn.Module:
    """The recipe's model for features of a layout.

    Args:
        sizes: as in `Setup`.
        more: what is known in training only (a fitted transform, word vectors).
    """
    if "transform" not in more:
        more["transform"] = empty_transform(recipe.encoder, layout)
    if "vector_dimensions" in sizes and more.get("vectors") is None:  # space for word vectors, filled from a checkpoint
        more["vectors"] = torch.zeros(sizes["words"], sizes["vector_dimensions"])
    values: dict[str, Any] = {key: value for key, value in sizes.items() if key != "vector_dimensions"} | more
    inputs = ModelInputs(
        features=getattr(more["transform"], "width", layout.shape[-1]),  # a transform may change the width
        sections=layout.sections,
        levels=layout.levels,
        **values,
    )
    return build(recipe.model, inputs)


def describe(recipe: Recipe, data: Sequence[str], features: Features, setup: Setup) -> dict[str, Any]:
    """The content of `run.json`."""
    layout = features.layout
    return {
        "format": FORMAT,
        "seetell": __version__,
        "recipe": recipe.to_json(),
        "data": list(data),
        "encoder_fingerprint": features.store.spec.encoder_fingerprint,
        "preparation": features.preparation.to_json(),
        "layout": {
            "layout": layout.layout,
            "shape": list(layout.shape),
            "sections": list(layout.sections),
            "names": list(layout.names),
        },
        "sizes": dict(setup.sizes),
        "parameters": sum(parameter.numel() for parameter in setup.task.model.parameters()),
    }
