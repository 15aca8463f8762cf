"""What a feature store holds, and the folder name that follows from it."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from seetell.errors import SeetellError
from seetell.images import Preparation
from seetell.learn.encoders.layouts import LayoutSpec

Precision = Literal["float16", "float32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

FORMAT = 1  # of the files, and of what the layouts mean; part of a store's name


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """What a store holds.

    Args:
        encoder: the encoder's name when the store was created.
        encoder_fingerprint: of its architecture and weights.
        preparation: how images were prepared.
        layout: the layout's shape and sections.
        precision: of the values on disk.
        notes: what a user should know about the encoder's weights.
        mirrored: the features are those of the mirrored images.
    """

    encoder: str
    encoder_fingerprint: str
    preparation: Preparation
    layout: LayoutSpec
    precision: Precision = "float16"
    notes: tuple[str, ...] = ()
    mirrored: bool = False

    @property
    def row_bytes(self) -> int:
        """The size of one image's row."""
        return int(np.prod(self.layout.shape)) * np.dtype(self.precision).itemsize

    @property
    def folder(self) -> str:
        """The folder's name: readable parts, and a hash of everything that its values depend on.

        The engine (PyTorch or ONNX Runtime, on which device) is not part of it: values differ in digits that half
        precision mostly does not keep, and a store may be continued with another engine.
        """
        makers = [self.encoder_fingerprint, self.preparation.fingerprint(), self.layout.layout, self.precision]
        makers += ["mirrored"] if self.mirrored else []
        digest = hashlib.sha256(json.dumps([FORMAT, *makers]).encode("utf-8")).hexdigest()[:12]
        network = self.encoder.partition("@")[0]
        view = "ten-" if self.preparation.crops == "ten" else "whole-" if self._whole else ""
        view += "mirrored-" if self.mirrored else ""
        return f"{network}-{re.sub(r'[:+]', '', self.layout.layout)}-{view}{self.precision}-{digest}"

    @property
    def view_options(self) -> str:
        """The options of `seetell learn features` that give this preparation."""
        if self.preparation.crops == "ten":
            return " --crops 10"
        view = f" --view whole --size {self.preparation.size}" if self._whole else ""
        return view + (" --mirrored" if self.mirrored else "")

    @property
    def _whole(self) -> bool:
        return self.preparation.fit == "squash" and self.preparation.resize == self.preparation.size

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "encoder": self.encoder,
            "encoder_fingerprint": self.encoder_fingerprint,
            "preparation": self.preparation.to_json(),
            "layout": self.layout.layout,
            "shape": list(self.layout.shape),
            "precision": self.precision,
            "row_bytes": self.row_bytes,
            "sections": [
                {"name": name, "width": width}
                for name, width in zip(self.layout.names, self.layout.sections, strict=True)
            ],
            "notes": list(self.notes),
            "mirrored": self.mirrored,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any], *, where: str) -> "StoreSpec":
        try:
            if values["format"] != FORMAT:
                raise SeetellError(
                    f"this feature store has format {values['format']}, not {FORMAT}",
                    where=where,
                    remedy="Encode the images again with: seetell learn features",
                )
            layout = LayoutSpec(
                layout=values["layout"],
                shape=tuple(values["shape"]),
                sections=tuple(section["width"] for section in values["sections"]),
                names=tuple(section["name"] for section in values["sections"]),
            )
            return cls(
                encoder=values["encoder"],
                encoder_fingerprint=values["encoder_fingerprint"],
                preparation=Preparation.from_json(values["preparation"], where=where),
                layout=layout,
                precision=values["precision"],
                notes=tuple(values["notes"]),
                mirrored=values.get("mirrored", False),
            )
        except (KeyError, TypeError) as error:
            raise SeetellError(f"this is not the description of a feature store ({error!r})", where=where) from error
