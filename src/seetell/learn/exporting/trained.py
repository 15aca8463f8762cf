"""A trained model with everything that an export needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from seetell.bundle import Score
from seetell.errors import SeetellError
from seetell.files import AnyPath
from seetell.images import Preparation
from seetell.learn.encoders import Encoder, LayoutSpec
from seetell.learn.models.live_encoder import LiveEncoder
from seetell.learn.recipes import CaptioningDecoding, DecodingSettings, TaggingDecoding
from seetell.learn.training.run import Run
from seetell.learn.training.warm_start import HEADS, shared_settings
from seetell.text import Vocabulary


@dataclass(frozen=True)
class Trained:
    """A model that can become a head of a bundle.

    Args:
        name: for messages.
        kind: captioner, tagger or retriever.
        encoder: with the weights that the model was trained with.
        decoding: the recipe's `[decoding]`.
        settings: the settings that further training must share (`warm_start.shared_settings`).
    """

    name: str
    kind: str
    model: nn.Module
    vocabulary: Vocabulary
    encoder: Encoder
    preparation: Preparation
    layout: LayoutSpec
    tokenizer: str
    decoding: DecodingSettings
    scores: tuple[Score, ...] = ()
    data: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def captioning_decoding(self) -> CaptioningDecoding:
        assert isinstance(self.decoding, CaptioningDecoding)
        return self.decoding

    @property
    def tagging_decoding(self) -> TaggingDecoding:
        assert isinstance(self.decoding, TaggingDecoding)
        return self.decoding

    @classmethod
    def of(cls, run: Run, encoder: Encoder | None = None) -> "Trained":
        """A run's best model. If the run fine-tuned its encoder, the encoder is taken from the model.

        Args:
            encoder: of runs that did not; None: loaded by the recipe's name.
        """
        if run.vocabulary is None:
            raise SeetellError("this run has no vocabulary", where=str(run.path), remedy="Train it again")
        model: Any = run.model()
        if isinstance(model.transform, LiveEncoder):
            encoder, model.transform = model.transform.encoder, model.transform.then
        elif encoder is None:
            encoder = Encoder.load(run.recipe.encoder.name)
        if not run.recipe.encoder.train and encoder.fingerprint() != run.encoder_fingerprint:
            raise SeetellError(
                f"the encoder {run.recipe.encoder.name} has different weights from those this run was trained with",
                where=str(run.path),
                remedy="Use the weights it was trained with, or train again",
            )
        return cls(
            name=str(run.path),
            kind=HEADS[run.recipe.task],
            model=model,
            vocabulary=run.vocabulary,
            encoder=encoder,
            preparation=run.preparation,
            layout=run.layout,
            tokenizer=run.recipe.text.tokenizer,
            decoding=run.recipe.decoding,
            scores=_validation(run),
            data=run.data,
            settings=shared_settings(run.recipe.to_json()),
        )


def open_runs(paths: Sequence[Run | AnyPath]) -> list[Trained]:
    """The best models of runs; each encoder is loaded once."""
    runs = [path if isinstance(path, Run) else Run.open(path) for path in paths]
    names = {run.recipe.encoder.name for run in runs if not run.recipe.encoder.live}
    encoders = {name: Encoder.load(name) for name in names}
    return [Trained.of(run, encoders.get(run.recipe.encoder.name)) for run in runs]


def check_compatible(trained: Sequence[Trained]) -> None:
    """Refuse runs that cannot be one model: they must share the encoder, and each be of another kind."""
    first = trained[0]
    for index, other in enumerate(trained):
        for earlier in trained[:index]:
            if earlier.kind == other.kind:
                raise SeetellError(
                    f"{earlier.name} is also a {other.kind}", where=other.name, remedy="A model has one of each kind"
                )
        problem = ""
        if other.encoder.fingerprint() != first.encoder.fingerprint() and other.encoder.name == first.encoder.name:
            problem = f"other weights of {other.encoder.name} than {first.name}: one of them fine-tuned the encoder"
        elif other.encoder.fingerprint() != first.encoder.fingerprint():
            problem = f"another encoder ({other.encoder.name}) than {first.name} ({first.encoder.name})"
        elif other.preparation != first.preparation:
            problem = f"images that are prepared differently from those of {first.name}"
        if problem:
            raise SeetellError(
                f"this run reads {problem}",
                where=other.name,
                remedy="Runs of one model share the encoder and its crops; export it separately, or train it again",
            )


def _validation(run: Run) -> tuple[Score, ...]:
    """The validation scores of the best checkpoint."""
    metrics = run.best.get("metrics") if run.best is not None else None
    if not isinstance(metrics, Mapping):
        return ()
    plain = plain_numbers(metrics)
    return (Score(", ".join(run.data), "val", "validation in training", 0, "checkpoint", plain),) if plain else ()


def plain_numbers(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Finite numbers and text; what a manifest cannot hold (NaN) is left out."""
    kept: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            kept[name] = plain_numbers(value)
        elif isinstance(value, str):
            kept[name] = value
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
            kept[name] = round(float(value), 4)
    return kept
