"""Where a run begins that does not begin with nothing: the weights and words of a trained run, or of a bundle.

What has the same name and shape is taken over. Rows that belong to words or labels go to the same words and labels of
the new run, wherever these stand there; words that only the new run has keep the weights a new model gives them.

What must be the same for that, the model's sizes and how images and texts are read, need not be said again: it is
taken over, too (`recipe_from`).
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
from seetell.learn.export.weight_names import head_weights
from seetell.learn.recipes import Recipe, load
from seetell.learn.training import checkpoints
from seetell.text import Vocabulary

HEADS = {"captioning": "captioner", "tagging": "tagger", "retrieval": "retriever"}
SHARED = {  # what the old run and the new one must agree on; of the model everything
    "encoder": ("name", "layout", "crops", "view", "size", "transform", "components", "later_stages"),
    "text": ("tokenizer", "vectors", "extra_words"),
}
_COUNTS = ("words", "labels", "trained")  # of what a model is told, how many words there are
FEWEST = 0.5  # the share of a model's weights that must be there; below it, another model was trained


def shared_settings(recipe: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Of a recipe as JSON, what a run that starts from its weights must take over."""
    some = {section: {key: recipe[section][key] for key in keys} for section, keys in SHARED.items()}
    return {"model": dict(recipe["model"]), **some}


def settings_of(start: str, family: str) -> dict[str, dict[str, Any]]:
    """The shared settings of a run, or of the head of a bundle; nothing where a bundle does not tell them."""
    path = Path(start).expanduser()
    if (path / "run.json").exists():
        return shared_settings(checkpoints.read_json(path / "run.json")["recipe"])
    told = _head(read_manifest(find_bundle(start)), family, start).training_settings
    try:
        return {section: dict(json.loads(told)[section]) for section in ("model", *SHARED)} if told else {}
    except (ValueError, KeyError, TypeError):
        raise SeetellError("how it was trained cannot be read", where=start, remedy="Make the bundle again") from None


def recipe_from(name: str | Path, start: str, *, settings: Sequence[str] = (), **how: Any) -> Recipe:
    """A recipe as `recipes.load` reads it, for a run that starts from trained weights: sizes, and how images and
    texts are read, are as there; `settings` come last."""
    settings = [*settings, f"training.start_from={json.dumps(start, ensure_ascii=False)}"]
    recipe = load(name, settings=settings, **how)
    before = settings_of(start, recipe.task)
    if not before or before["model"].get("kind") != recipe.model.get("kind"):
        return recipe  # another model: what does not fit is said when the weights are loaded
    content = recipe.to_json()
    under = {section: {**content[section], **before[section]} for section in SHARED}
    return load(name, settings=settings, under={"model": before["model"], **under}, **how)


def _head(manifest: Manifest, family: str, name: str) -> Head:
    head = next((head for head in manifest.heads if HEADS[family] == head.KIND), None)
    if head is None:
        raise SeetellError(
            f"this bundle has no {HEADS[family]}", where=name, remedy="Start from another, or from nothing"
        )
    return head


@dataclass(frozen=True)
class WarmStart:
    """Trained weights, and the words they know.

    Args:
        encoder: the fingerprint of the network whose features they read; "" where they bring their own.
    """

    name: str
    weights: Mapping[str, Tensor]
    vocabulary: Vocabulary
    encoder: str

    @classmethod
    def of(cls, recipe: Recipe) -> "WarmStart | None":
        """What a recipe says it starts from: a run's folder, or a bundle by name or folder."""
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
        """Whether it knows every weight and statistic of a part of the model."""
        return all(
            f"{prefix}.{name}" in self.weights and self.weights[f"{prefix}.{name}"].shape == tensor.shape
            for name, tensor in module.state_dict().items()
        )

    def words(self, training: Vocabulary) -> Vocabulary:
        """Its own words, and after them those that only the training captions have."""
        new = [word for word in training.words if word not in self.vocabulary]
        return Vocabulary([*self.vocabulary.words, *new], self.vocabulary.specials)

    def load(
        self,
        model: nn.Module,
        vocabulary: Vocabulary,
        by_word: Sequence[str],
        encoder: str,
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        """Put the weights into a model.

        Args:
            by_word: which of the model's tensors have a row for each word or label.
            encoder: the fingerprint of the network whose features the model reads.
        """
        if self.encoder and self.encoder != encoder:
            raise SeetellError(
                "its weights read features of another encoder",
                where=self.name,
                remedy="Take the encoder it was trained with",
            )
        state = model.state_dict()
        rest = [name for name in state if name not in by_word]
        present = [name for name in rest if name in self.weights]
        wrong = [name for name in present if self.weights[name].shape != state[name].shape]
        if wrong or _count(state, present) < FEWEST * _count(state, rest):
            problem = f"its {wrong[0]} has another size" if wrong else "most of its weights are not there"
            raise SeetellError(
                f"another recipe was trained: {problem}",
                where=self.name,
                remedy="Use the recipe, and the sizes, that it was trained with",
            )
        for name in present:
            state[name].copy_(self.weights[name])
        taken = _count(state, present) + sum(
            self._rows(state[name], self.weights[name], vocabulary) for name in by_word if name in self.weights
        )
        known = sum(word in self.vocabulary for word in vocabulary.words)
        say(
            f"begins with {taken / _count(state, state):.0%} of its weights from {self.name}; "
            f"{known:,} of {len(vocabulary.words):,} words or labels are known there"
        )

    def _rows(self, tensor: Tensor, found: Tensor, vocabulary: Vocabulary) -> int:
        """Rows of words that both know. A classifier's have no special symbols before them."""
        first = len(vocabulary.specials) if len(tensor) == len(vocabulary) else 0
        before = len(self.vocabulary.specials) if len(found) == len(self.vocabulary) else 0
        fits = len(tensor) == first + len(vocabulary.words) and len(found) == before + len(self.vocabulary.words)
        if not fits or tensor.shape[1:] != found.shape[1:]:
            return 0
        if first and before:
            tensor[:first].copy_(found[:before])
        places = [
            (first + new, before + self.vocabulary.index(word) - len(self.vocabulary.specials))
            for new, word in enumerate(vocabulary.words)
            if word in self.vocabulary
        ]
        if places:
            to, of = torch.tensor(places).T
            tensor[to] = found[of].to(tensor.dtype)
        return len(places) * tensor[:1].numel()


def _count(state: Mapping[str, Tensor], names: Iterable[str]) -> int:
    return sum(state[name].numel() for name in names)


def rows_by_word(
    build_model: Callable[..., nn.Module], recipe: Recipe, layout: LayoutSpec, given: Mapping[str, Any]
) -> list[str]:
    """The tensors of a recipe's model that have a row for each word: those that grow when there is a word more."""
    with torch.device("meta"):
        more = {key: value + 1 if key in _COUNTS else value for key, value in given.items()}
        now, then = (build_model(recipe, layout, sizes).state_dict() for sizes in (given, more))
    return [name for name, tensor in now.items() if then[name].shape[:1] != tensor.shape[:1]]
