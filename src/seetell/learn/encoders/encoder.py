"""An encoder: a timm network with its weights, its preparation, and its feature layouts."""

import copy
import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from timm.data.config import resolve_data_config
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.images import Preparation
from seetell.images.preparation import Crops
from seetell.learn.encoders.folding import fold_batch_norms
from seetell.learn.encoders.layouts import LayoutSpec, Reader, check_crops
from seetell.learn.encoders.taps import Tap, find_taps
from seetell.learn.encoders.weights import PACKAGES, EncoderName, load_network

DEFAULT_ENCODER = "tf_efficientnet_lite2"
VIEWS = ("centre", "whole")


class Encoder(nn.Module):
    """Turns prepared pixels into features; an ordinary module, to be trained further or exported.

    Args:
        network: a timm network without classifier.
        name: of the network and its weights.
        notes: what a user should know about the weights.

    Example:
        >>> encoder = Encoder.load("tf_efficientnet_lite2")
        >>> pixels = torch.from_numpy(encoder.preparation().open("dog.jpg"))
        >>> encoder.encode(pixels, ["pooled", "grid"])["grid"].shape
        torch.Size([1, 81, 1280])
    """

    def __init__(self, network: nn.Module, name: EncoderName, notes: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.network = network.eval()
        self.name = name
        self.notes = notes
        self._fingerprint = ""  # set only where folding has changed the weights

    @classmethod
    def load(cls, name: str, *, weights: str | None = None, device: str | torch.device = "cpu") -> "Encoder":
        """Load a network with its weights.

        Args:
            name: `NETWORK` or `NETWORK@WEIGHTS`, as `weights.py` explains.
            weights: instead of the part after the @: `package`, `hub`, `random` or a path.
            device: where it is to run.
        """
        parsed = EncoderName.parse(name)
        if weights is not None:
            parsed = EncoderName(parsed.network, weights)
        network, notes = load_network(parsed)
        return cls(network, parsed, notes).to(device)

    def forward(self, pixels: Tensor, layout: str = "pooled") -> Tensor:
        """One layout of prepared pixels (N × 3 × H × W), with gradients."""
        features: Tensor = self.reader([layout])(pixels)[layout]
        return features

    @torch.inference_mode()
    def encode(self, pixels: Tensor, layouts: Sequence[str]) -> dict[str, Tensor]:
        """Several layouts in one pass, without gradients.

        Args:
            pixels: images × 3 × H × W or, to be averaged over crops, images × crops × 3 × H × W.
            layouts: any of `LAYOUTS`, or `grid:N`.
        """
        reader = self.reader(layouts)
        if pixels.ndim == 4:
            features: dict[str, Tensor] = reader(pixels)
            return features
        images, crops = pixels.shape[:2]
        check_crops(layouts, crops)
        return {
            layout: values.unflatten(0, (images, crops)).mean(1)
            for layout, values in reader(pixels.flatten(0, 1)).items()
        }

    def reader(self, layouts: Sequence[str]) -> Reader:
        """The module that reads some layouts in one pass; it shares this encoder's network."""
        return Reader(self.network, layouts, self.taps if "full_network" in layouts else ())

    def layout(self, layout: str) -> LayoutSpec:
        """The shape and the sections of a layout, at the size that `preparation` gives."""
        return self.layout_specs([layout])[layout]

    def layout_specs(self, layouts: Sequence[str], size: int | None = None) -> dict[str, LayoutSpec]:
        """The same for several layouts, and optionally for squares of another `size`."""
        return self.replica().eval().reader(layouts).describe(self._blank(size))

    def preparation(self, crops: Crops = "centre", *, view: str = "centre", size: int = 0) -> Preparation:
        """How images must be prepared for the network's weights, as timm documents it.

        Ten crops are cut from an image squashed to a square (256 × 256 for VGG), as Vilalta et al. do, so that
        together they see all of it.

        Args:
            crops: `centre` for one, or `ten`.
            view: of one crop, `centre` (the square in the middle, as networks are usually tested: of a photograph of
                3 to 2 it sees little more than half) or `whole` (all of the image, squashed to a square).
            size: of the square, if not what the network was trained on.
        """
        if view not in VIEWS:
            raise SeetellError(f"there is no view {view!r}", remedy=f"Choose one of: {', '.join(VIEWS)}")
        if view == "whole" and crops == "ten":
            raise SeetellError("ten crops see the whole image already", remedy="Leave out one of crops and view")
        config = self._data_config()
        size = size or int(config["input_size"][-1])
        squash = crops == "ten" or view == "whole" or config.get("crop_mode") == "squash"
        mean, std = config["mean"], config["std"]
        if self.name.architecture in PACKAGES:  # the original scale from −1 to 1, regardless of timm's tag
            mean = std = (0.5, 0.5, 0.5)
        return Preparation(
            size=size,
            resize=size if view == "whole" else math.floor(size / config["crop_pct"]),
            fit="squash" if squash else "shorter",
            crops=crops,
            interpolation="bilinear" if config["interpolation"] == "bilinear" else "bicubic",
            mean=tuple(mean),
            std=tuple(std),
        )

    @cached_property
    def taps(self) -> tuple[Tap, ...]:
        """Where `full_network` reads: layer by layer, in the order of the row."""
        with torch.inference_mode(False):
            return find_taps(self.replica().network.eval(), self._blank())

    def for_inference(self) -> "Encoder":
        """A copy for inference: batch normalisations folded, and the memory format that suits convolutions."""
        fingerprint, taps = self.fingerprint(), self.taps
        encoder = copy.deepcopy(self).eval().requires_grad_(False)
        blank = self._blank()
        pixels = torch.linspace(-1, 1, blank.numel(), device=blank.device).view_as(blank)

        def run(network: Any) -> Tensor:
            output: Tensor = network.forward_features(pixels)
            return output

        if not fold_batch_norms(encoder.network, taps, run):
            encoder = copy.deepcopy(self).eval().requires_grad_(False)
        encoder._fingerprint = fingerprint
        encoder.__dict__["taps"] = taps  # the names stay valid, but a folded normalisation is no longer found
        return encoder.to(memory_format=torch.channels_last)

    def replica(self) -> "Encoder":
        """A copy that shares the weights, for another thread: a network serves one pass at a time."""
        shared: dict[int, Any] = {id(tensor): tensor for tensor in (*self.parameters(), *self.buffers())}
        return copy.deepcopy(self, shared)

    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with the architecture and any weight."""
        if self._fingerprint:
            return self._fingerprint
        digest = hashlib.sha256(self.name.architecture.encode("utf-8"))
        for key, tensor in sorted(self.network.state_dict().items()):
            if not key.endswith("num_batches_tracked"):
                digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
                digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]

    def _blank(self, size: int | None = None) -> Tensor:
        """One blank image on the network's device."""
        size = size or int(self._data_config()["input_size"][-1])
        return torch.zeros(1, 3, size, size, device=next(self.network.parameters()).device)

    def _data_config(self) -> dict[str, Any]:
        config: dict[str, Any] = resolve_data_config(model=self.network)  # type: ignore[no-untyped-call]
        return config
