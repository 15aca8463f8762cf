"""Bundles side by side: what each can do, and what was measured."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from seetell.bundle import InstalledBundle, Manifest, installed, read_manifest
from seetell.errors import SeetellError
from seetell.web.site import Site


class ScoreAnswer(BaseModel):
    """What was measured, on what and how; nested numbers have names with dots."""

    data: str
    split: str
    protocol: str
    images: int
    measured_on: str
    metrics: dict[str, float]


class BundleAnswer(BaseModel):
    """A bundle on this computer."""

    name: str
    used: bool
    builtin: bool
    about: str = ""
    kinds: list[str] = []
    bytes: int = 0
    precision: str = ""
    licence: str = ""
    training_data: list[str] = []
    encoder: str = ""
    fingerprint: str = ""
    scores: dict[str, list[ScoreAnswer]] = {}
    problem: str = ""


def routes(site: Site) -> APIRouter:
    api = APIRouter(prefix="/api", tags=["bundles"])

    @api.get("/bundles")
    async def bundles() -> list[BundleAnswer]:
        """The bundle in use and those that have a name on this computer, with all that was measured of them."""
        return await site.quick.run(listed, site)

    return api


def listed(site: Site) -> list[BundleAnswer]:
    info = site.library.info()
    found: list[BundleAnswer] = []
    for place in installed():
        try:
            found.append(described(read_manifest(place.path), place, info.fingerprint))
        except SeetellError as error:
            found.append(BundleAnswer(name=place.name, used=False, builtin=place.builtin, problem=error.problem))
    if info.fingerprint and not any(each.used for each in found):  # it lies in a folder of its own
        try:
            found.append(described(site.library.model.manifest, None, info.fingerprint))
        except SeetellError as error:
            found.append(BundleAnswer(name=info.bundle, used=True, builtin=False, problem=error.problem))
    return sorted(found, key=lambda each: not each.used)


def described(manifest: Manifest, place: InstalledBundle | None, used: str) -> BundleAnswer:
    scores = {
        head.KIND: [
            ScoreAnswer(
                data=score.data,
                split=score.split,
                protocol=score.protocol,
                images=score.images,
                measured_on=score.measured_on,
                metrics=flat(score.metrics),
            )
            for score in head.scores
        ]
        for head in manifest.heads
    }
    return BundleAnswer(
        name=place.name if place else manifest.name,
        used=manifest.fingerprint == used,
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


def flat(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested numbers under names with dots."""
    found: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, int | float):
            found[f"{prefix}{name}"] = float(value)
    return found
