"""The models on this computer, with the scores they carry."""

from collections.abc import Mapping
from typing import Any

from seetell.bundle import InstalledBundle, Manifest, installed, read_manifest
from seetell.errors import SeetellError
from seetell.library import Library
from seetell.web.schemas import ModelResponse, ScoreResponse


def list_models(library: Library) -> list[ModelResponse]:
    """Return the model the library uses, then the others that are installed."""
    info = library.info()
    models: list[ModelResponse] = []
    for place in installed():
        try:
            models.append(model_response(read_manifest(place.path), place, info.fingerprint))
        except SeetellError as error:
            models.append(ModelResponse(name=place.name, in_use=False, builtin=place.builtin, error=error.problem))
    if info.fingerprint and not any(model.in_use for model in models):  # opened from a folder, not installed
        try:
            models.append(model_response(library.model.manifest, None, info.fingerprint))
        except SeetellError as error:
            models.append(ModelResponse(name=info.bundle, in_use=True, builtin=False, error=error.problem))
    return sorted(models, key=lambda model: not model.in_use)


def model_response(manifest: Manifest, place: InstalledBundle | None, fingerprint: str) -> ModelResponse:
    """Describe a model.

    Args:
        place: where it is installed; None if it is not.
        fingerprint: of the model in use.
    """
    scores = {
        head.KIND: [
            ScoreResponse(
                data=score.data,
                split=score.split,
                protocol=score.protocol,
                images=score.images,
                measured_on=score.measured_on,
                metrics=flatten_metrics(score.metrics),
            )
            for score in head.scores
        ]
        for head in manifest.heads
    }
    return ModelResponse(
        name=place.name if place else manifest.name,
        in_use=manifest.fingerprint == fingerprint,
        builtin=bool(place and place.builtin),
        about=manifest.about,
        kinds=list(manifest.kinds),
        bytes=sum(stored.size for stored in manifest.files.values()),
        precision=manifest.precision,
        licence=manifest.licence,
        training_data=list(manifest.training_data),
        encoder=manifest.encoder.name,
        fingerprint=manifest.fingerprint,
        scores=scores,
    )


def flatten_metrics(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested numbers under dotted names."""
    flat: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            flat |= flatten_metrics(value, f"{prefix}{name}.")
        elif isinstance(value, int | float):
            flat[f"{prefix}{name}"] = float(value)
    return flat
