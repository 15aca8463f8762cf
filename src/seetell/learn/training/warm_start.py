"""Warm starts: training that starts from the weights and the vocabulary of a trained run or an exported model.

Tensors of the same name and shape are copied. Rows of words or labels are matched by word; words that only the new run
has keep their fresh initialisation.

The settings that must agree for this, the model's sizes and how images and texts are read, are taken over as well
(`recipe_from`).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seetell.bundle import Bundle, Head, Manifest, find_bundle, read_manifest
from seetell.errors import SeetellError
from seetell.learn.encoders import LayoutSpec
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.training import checkpoints
from seetell.learn.weight_names import head_weights
from seetell.progress import SILENT, Progress
from seetell.text import Vocabulary

HEADS = {"captioning": "captioner", "tagging": "tagger", "retrieval": "retriever"}
SHARED = {  # settings on which the old run and the new one must agree, apart from the model, which must be the same
    "encoder": ("name", "layout", "crops", "view", "size", "transform", "components", "later_stages"),
    "text": ("tokenizer", "vectors", "extra_words"),
}
_COUNTS = ("words", "labels", "trained")  # sizes that grow with the vocabulary
FEWEST = 0.5  # the share of a model's weights that must be found; with fewer, it is another model


def shared_settings(recipe: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings of a recipe (as JSON) that a run which starts from its weights must share."""
    some = {section: {key: recipe[section][key] for key in keys} for section, keys in SHARED.items()}
    return {"model": dict(recipe["model"]), **some}


def settings_of(start: str, task: str) -> dict[str, dict[str, Any]]:
    """The shared settings of a run, or of an exported model's head; empty where the model does not record them."""
    path = Path(start).expanduser()
    if (path / "run.json").exists():
        return shared_settings(checkpoints.read_json(path / "run.json")["recipe"])
    recorded = _head(read_manifest(find_bundle(start)), task, start).training_settings
    try:
        return {section: dict(json.loads(recorded)[section]) for section in ("model", *SHARED)} if recorded else {}
    except (ValueError, KeyError, TypeError):
        raise SeetellError(
            "its training settings cannot be read", where=start, remedy="Export the model again"
        ) from None


def recipe_from(name: str | Path, start: str, *, settings: Sequence[str] = (), **how: Any) -> Recipe:
    """A recipe for a run that starts from trained weights, with its sizes and how images and texts are read.

    Args:
        name: as for `load_recipe`, and so are `settings` (which come last) and `how`.
        start: a run's folder, or a model by name or folder.
    """
    settings = [*settings, f"training.start_from={json.dumps(start, ensure_ascii=False)}"]
    recipe = load_recipe(name, settings=settings, **how)
    before = settings_of(start, recipe.task)
    if not before or before["model"].get("kind") != recipe.model.kind:
        return recipe  # another model: loading its weights raises the error
    content = recipe.to_json()
    under = {section: {**content[section], **before[section]} for section in SHARED}
    return load_recipe(name, settings=settings, under={"model": before["model"], **under}, **how)


def _head(manifest: Manifest, task: str, name: str) -> Head:
    head = next((head for head in manifest.heads if HEADS[task] == head.KIND), None)
    if head is None:
        raise SeetellError(
            f"this model has no {HEADS[task]}", where=name, remedy="Start from another model, or leave out --from"
        )
    return head


@dataclass(frozen=True)
class WarmStart:
    """Trained weights and their vocabulary.

    Args:
        name: the run or model, for messages.
        encoder: the fingerprint of the encoder whose features they read; "" if the encoder is among the weights.
    """

    name: str
    weights: Mapping[str, Tensor]
    vocabulary: Vocabulary
    encoder: str

    @classmethod
    def of(cls, recipe: Recipe) -> "WarmStart | None":
        """What a recipe starts from (`training.start_from`): a run's folder, or a model by name or folder."""
        if not recipe.training.start_from:
            return None
        path = Path(recipe.training.start_from).expanduser()
        return cls._of_run(path) if (path / "run.json").exists() else cls._of_bundle(recipe)

    @classmethod
    def _of_run(cls, path: Path) -> "WarmStart":
        content = checkpoints.read_json(path / "run.json")
        weights = checkpoints.model_weights(path, "best")
        fingerprint = "" if content["recipe"]["encoder"]["train"] else content["encoder_fingerprint"]
        return cls(str(path), weights, Vocabulary.load(path / "vocabulary.txt"), fingerprint)

    @classmethod
    def _of_bundle(cls, recipe: Recipe) -> "WarmStart":
        bundle = Bundle.open(find_bundle(recipe.training.start_from))
        kind, name = HEADS[recipe.task], recipe.training.start_from
        vocabulary = bundle.vocabulary(_head(bundle.manifest, recipe.task, name).vocabulary)
        return cls(name, head_weights(bundle, kind), vocabulary, bundle.manifest.encoder.fingerprint)

    def has(self, module: nn.Module, prefix: str) -> bool:
        """Whether it has every weight and statistic of a part of the model."""
        return all(
            f"{prefix}.{name}" in self.weights and self.weights[f"{prefix}.{name}"].shape == tensor.shape
            for name, tensor in module.state_dict().items()
        )

    def words(self, training: Vocabulary) -> Vocabulary:
        """Its own words, followed by those that only the training captions have."""
        new = [word for word in training.words if word not in self.vocabulary]
        return Vocabulary([*self.vocabulary.words, *new], self.vocabulary.specials)

    def load(
        self,
        model: nn.Module,
        vocabulary: Vocabulary,
        by_word: Sequence[str],
        encoder: str,
        progress: Progress = SILENT,
    ) -> None:
        """Copy the weights into a model.

        Args:
            by_word: the model's tensors that have a row for each word or label.
            encoder: the fingerprint of the encoder whose features the model reads.
        """
        if self.encoder and self.encoder != encoder:
            raise SeetellError(
                "its weights read features of another encoder",
                where=self.name,
                remedy="Use the encoder it was trained with",
            )
        state = model.state_dict()
        rest = [name for name in state if name not in by_word]
        present = [name for name in rest if name in self.weights]
        wrong = [name for name in present if self.weights[name].shape != state[name].shape]
        if wrong or _count(state, present) < FEWEST * _count(state, rest):
            problem = f"its {wrong[0]} has another size" if wrong else "most of the weights are missing"
            raise SeetellError(
                f"it was trained by another recipe: {problem}",
                where=self.name,
                remedy="Use the recipe and the sizes that it was trained with",
            )
        for name in present:
            state[name].copy_(self.weights[name])
        taken = _count(state, present) + sum(
            self._rows(state[name], self.weights[name], vocabulary) for name in by_word if name in self.weights
        )
        known = sum(word in self.vocabulary for word in vocabulary.words)
        progress.message(
            f"starts from {self.name}: {taken / _count(state, state):.0%} of the weights, "
            f"{known:,} of {len(vocabulary.words):,} words or labels"
        )

    def _rows(self, tensor: Tensor, found: Tensor, vocabulary: Vocabulary) -> int:
        """Copy the rows of words that both have. A classifier's rows have no special symbols before them."""
        first = len(vocabulary.specials) if len(tensor) == len(vocabulary) else 0
        before = len(self.vocabulary.specials) if len(found) == len(self.vocabulary) else 0
        fits = len(tensor) == first + len(vocabulary.words) and len(found) == before + len(self.vocabulary.words)
        if not fits or tensor.shape[1:] != found.shape[1:]:
            return 0
        if first and before:
            tensor[:first].copy_(found[:before])
        pairs = [
            (first + new, before + self.vocabulary.index(word) - len(self.vocabulary.specials))
            for new, word in enumerate(vocabulary.words)
            if word in self.vocabulary
        ]
        if pairs:
            to, of = torch.tensor(pairs).T
            tensor[to] = found[of].to(tensor.dtype)
        return len(pairs) * tensor[:1].numel()


def _count(state: Mapping[str, Tensor], names: Iterable[str]) -> int:
    return sum(state[name].numel() for name in names)


def rows_by_word(
    build_model: Callable[..., nn.Module], recipe: Recipe, layout: LayoutSpec, sizes: Mapping[str, int]
) -> list[str]:
    """The tensors of a recipe's model that have a row for each word: those that grow with the vocabulary."""
    with torch.device("meta"):
        larger = {key: value + 1 if key in _COUNTS else value for key, value in sizes.items()}
        now, grown = (build_model(recipe, layout, each).state_dict() for each in (sizes, larger))
    return [name for name, tensor in now.items() if grown[name].shape[:1] != tensor.shape[:1]]
