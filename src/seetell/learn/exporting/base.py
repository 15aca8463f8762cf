"""The heads that an export keeps from a base model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seetell.bundle import Bundle, Head, Layout
from seetell.errors import SeetellError
from seetell.learn.exporting.quantize import precision_of
from seetell.learn.exporting.trained import Trained


@dataclass(frozen=True)
class BaseHeads:
    """Heads by kind, the layouts they read, their files, and the datasets they were trained on."""

    heads: Mapping[str, Head] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    training_data: tuple[str, ...] = ()


def heads_to_keep(bundle: Bundle, trained: Sequence[Trained], quantize: str | None) -> BaseHeads:
    """The heads of a base model that no trained model replaces. Encoder and precision must be the same."""
    manifest, first = bundle.manifest, trained[0]
    problem = ""
    if manifest.encoder.fingerprint != first.encoder.fingerprint():
        problem = f"has another encoder ({manifest.encoder.name}) than {first.name} ({first.encoder.name})"
    elif manifest.encoder.preparation != first.preparation:
        problem = f"prepares images differently from {first.name}"
    if problem:
        raise SeetellError(
            f"this model {problem}",
            where=str(bundle.path),
            remedy="Train with --from this model, or leave out --base",
        )
    if manifest.precision != (quantize or "float32"):
        precision = precision_of(bundle)
        raise SeetellError(
            f"the weights of this model are {manifest.precision}",
            where=str(bundle.path),
            remedy=f"Export with --quantize {precision}" if precision else "Leave out --quantize",
        )
    replaced: dict[str, Any] = {each.kind: None for each in trained}
    rest = msgspec.structs.replace(manifest, **replaced)
    if rest.captioner is not None and rest.retriever is None:  # similarities of another retriever are not comparable
        rest = msgspec.structs.replace(
            rest, captioner=msgspec.structs.replace(rest.captioner, uncertain_below=None, retry=None)
        )
    layouts = {head.layout for head in rest.heads}
    return BaseHeads(
        {head.KIND: head for head in rest.heads},
        {layout.name: layout for layout in manifest.encoder.layouts if layout.name in layouts},
        {name: bundle.read(name) for name in rest.named if name != manifest.encoder.graph},
        manifest.training_data,
    )
