"""The models on this computer, with the scores they carry."""

from seetell.bundle import InstalledBundle, Manifest, installed, read_manifest
from seetell.errors import SeetellError
from seetell.library import Library
from seetell.metrics import flatten_metrics
from seetell.web.schemas import ModelResponse, ScoreResponse


def list_models(library: Library) -> list[ModelResponse]:
    """Return the model the library uses, then the others that are installed."""
    info = library.info()
    models: list[ModelResponse] = []
    for bundle in installed():
        try:
            models.append(model_response(read_manifest(bundle.path), bundle, info.fingerprint))
        except SeetellError as error:
            models.append(ModelResponse(name=bundle.name, in_use=False, builtin=bundle.builtin, error=error.problem))
    if info.fingerprint and not any(model.in_use for model in models):  # opened from a folder, not installed
        try:
            with library.use_model() as opened:
                models.append(model_response(opened.manifest, None, info.fingerprint))
        except SeetellError as error:
            models.append(ModelResponse(name=info.model, in_use=True, builtin=False, error=error.problem))
    return sorted(models, key=lambda model: not model.in_use)


def model_response(manifest: Manifest, bundle: InstalledBundle | None, fingerprint: str) -> ModelResponse:
    """Describe a model.

    Args:
        bundle: the installed bundle; None if the model was opened from a folder.
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
        name=bundle.name if bundle else manifest.name,
        in_use=manifest.fingerprint == fingerprint,
        builtin=bool(bundle and bundle.builtin),
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
