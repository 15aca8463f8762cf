"""The heads of a bundle that are kept when others of its kinds are made anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seetell.bundle import Bundle, Head, Layout
from seetell.errors import SeetellError
from seetell.learn.export.quantize import SMALLER
from seetell.learn.export.trained import Trained


@dataclass(frozen=True)
class Kept:
    """Heads by their kind, the layouts they read, their files, and what they were trained on."""

    heads: Mapping[str, Head] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    training_data: tuple[str, ...] = ()


def kept_of(bundle: Bundle, trained: Sequence[Trained], smaller: str) -> Kept:
    """What stays of a bundle beside new heads. They must see with the same encoder, and their weights be rounded alike."""
    manifest, first = bundle.manifest, trained[0]
    problem = ""
    if manifest.encoder.fingerprint != first.encoder.fingerprint():
        problem = f"sees with another encoder ({manifest.encoder.name}) than {first.name} ({first.encoder.name})"
    elif manifest.encoder.preparation != first.preparation:
        problem = f"prepares images in another way than {first.name}"
    if problem:
        raise SeetellError(
            f"this bundle {problem}",
            where=str(bundle.path),
            remedy="Train with --from this bundle, or leave out --beside",
        )
    if manifest.precision != SMALLER.get(smaller, "float32"):
        raise SeetellError(
            f"this bundle's weights are {manifest.precision}",
            where=str(bundle.path),
            remedy=f"Export with --smaller {like(bundle)}" if like(bundle) else "Leave out --smaller",
        )
    gone: dict[str, Any] = {one.kind: None for one in trained}
    rest = msgspec.structs.replace(manifest, **gone)
    if rest.captioner is not None and rest.retriever is None:  # what fits badly, another retriever says otherwise
        rest = msgspec.structs.replace(
            rest, captioner=msgspec.structs.replace(rest.captioner, uncertain_below=None, retry=None)
        )
    read = {head.layout for head in rest.heads}
    return Kept(
        {head.KIND: head for head in rest.heads},
        {layout.name: layout for layout in manifest.encoder.layouts if layout.name in read},
        {name: bundle.read(name) for name in rest.named if name != manifest.encoder.graph},
        manifest.training_data,
    )


def like(bundle: Bundle) -> str:
    """How a bundle's weights were rounded, as `--smaller` says it; "" if they were not."""
    return next((name for name, precision in SMALLER.items() if precision == bundle.manifest.precision), "")
