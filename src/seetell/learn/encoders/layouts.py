"""The layouts of an image's features, and the module that reads them from a network in one pass.

- `pooled` (D): the penultimate vector, what the classifier would read. VGG: fc7 after its ReLU.
- `grid` (L × D): annotation vectors, the locations of the network's last feature map row by row. VGG: the map before
  the last pooling (Xu et al.). `grid:N` is the map of the N-th stage, counted from 1.
- `levels` (a row of `sections`): each stage's map averaged over its locations, and `pooled`; for CNN sequence to
  sequence (Ren). VGG's stages are its five pooling layers; any other network's are those that timm lists
  (`feature_info`).
- `full_network` (a row of `sections`): every convolution and fully connected layer but the classifier, after
  normalisation and activation, averaged over its locations (Vilalta et al.); `taps.py` has the rule.
- `grid+levels` (L + R × D): the locations of `grid`, and below them the row of `levels`, cut into R rows of the grid's
  width, the last filled up with zeros. Its sections are the grid's width and then those of `levels`.

For a VGG without fully connected layers `pooled` is the averaged map that `grid` gives.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from timm.models.vgg import VGG
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.learn.encoders.taps import Tap, watching

GRID_AND_LEVELS = "grid+levels"
LAYOUTS = ("pooled", "grid", "levels", "full_network", GRID_AND_LEVELS)


@dataclass(frozen=True, slots=True)
class LayoutSpec:
    """The shape of an image's features in one layout.

    Args:
        layout: its name.
        shape: one image's values: (D,) or (L, D).
        sections: the widths that a row is divided into; their sum is D. Of `grid+levels`: D, then those of `levels`.
        names: for each section the part of the network that it comes from.
    """

    layout: str
    shape: tuple[int, ...]
    sections: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def levels(self) -> int:
        """How many features follow below a grid's locations; 0: none."""
        return sum(self.sections[1:]) if self.layout == GRID_AND_LEVELS else 0


@dataclass(frozen=True, slots=True)
class _Tapped:
    """A module's output that is read on the way: averaged over its locations, or one row per location."""

    name: str
    module: str
    width: int
    call: int = 0
    axis: int | None = None  # where the channels are, if it is known
    prefix: int = 0  # tokens at the front that are not locations: a transformer's class token
    by_location: bool = False

    def read(self, output: Tensor, batch: int) -> Tensor:
        if self.by_location:
            return annotation_vectors(output, self.width, self.prefix).clone()  # the network may overwrite it
        return average(output[:, self.prefix :] if self.prefix else output, self.width, batch, self.axis)


class Reader(nn.Module):
    """A network read in several layouts at once: pixels (N × 3 × H × W) → a tensor for each layout.

    Args:
        network: a timm network without classifier.
        layouts: which to read.
        taps: where `full_network` reads; that layout alone needs it.
    """

    def __init__(self, network: nn.Module, layouts: Sequence[str], taps: Sequence[Tap] = ()) -> None:
        super().__init__()
        self.network = network
        self.layouts = tuple(layouts)
        self.prefix: int = getattr(network, "num_prefix_tokens", 0)
        convolutions_only = isinstance(network, VGG) and isinstance(network.pre_logits, nn.Identity)
        grids_only = all(layout.startswith("grid") and layout != GRID_AND_LEVELS for layout in layouts)
        self.needs_head = not convolutions_only and not grids_only
        self.tapped: dict[str, list[_Tapped]] = {}
        for layout in layouts:
            self.tapped[layout] = self._find(layout, taps)
        if convolutions_only:
            self.tapped["pooled"] = self._find("grid", ())

    def _find(self, layout: str, taps: Sequence[Tap]) -> list[_Tapped]:
        """The outputs that a layout reads on the way to the end of the network."""
        check_layout(layout)
        if layout == "full_network":
            return [_Tapped(tap.layer, tap.module, tap.width, tap.call, tap.axis) for tap in taps]
        if layout == GRID_AND_LEVELS:
            return [*self._find("grid", ()), *self._find("levels", ())]
        if layout == "levels":
            return [_Tapped(module, module, width, prefix=self.prefix) for module, width in stages(self.network)]
        if layout == "grid" and isinstance(self.network, VGG):
            module, width = _before_last_pooling(self.network)
            return [_Tapped(module, module, width, by_location=True)]
        if layout.startswith("grid:"):
            listed = stages(self.network)
            stage = int(layout.removeprefix("grid:"))
            if stage > len(listed):
                raise SeetellError(f"this network has {len(listed)} stages", where=layout)
            module, width = listed[stage - 1]
            return [_Tapped(module, module, width, prefix=self.prefix, by_location=True)]
        return []

    def forward(self, pixels: Tensor) -> dict[str, Tensor]:
        tapped = [(layout, output) for layout, listed in self.tapped.items() for output in listed]
        read: dict[int, Tensor] = {}

        def take(position: int, output: Tensor) -> None:
            read[position] = tapped[position][1].read(output, pixels.shape[0])

        with watching(self.network, [(each.module, each.call) for _, each in tapped], take):
            last: Tensor = self.network.forward_features(pixels)  # type: ignore[operator]
            end: Tensor = self.network.forward_head(last, pre_logits=True) if self.needs_head else last  # type: ignore[operator]
        parts: dict[str, list[Tensor]] = {layout: [] for layout in (*self.layouts, "pooled")}
        for position, (layout, _) in enumerate(tapped):
            parts[layout].append(read[position])
        # A VGG without fully connected layers ends with its last map.
        pooled = parts["pooled"][0].mean(1) if parts["pooled"] else end
        features = {}
        for layout in self.layouts:
            if layout == "pooled":
                features[layout] = pooled
            elif layout == GRID_AND_LEVELS:
                given = self.tapped[layout][0].by_location
                grid, *levels = parts[layout] if given else (self._grid(last), *parts[layout])
                features[layout] = put_below(grid, torch.cat([*levels, pooled], 1))
            elif layout.startswith("grid"):
                features[layout] = parts[layout][0] if parts[layout] else self._grid(last)
            else:
                features[layout] = torch.cat([*parts[layout], pooled] if layout == "levels" else parts[layout], 1)
        return features

    def _grid(self, last: Tensor) -> Tensor:
        return annotation_vectors(last, self.network.num_features, self.prefix)  # type: ignore[arg-type]

    def describe(self, pixels: Tensor) -> dict[str, LayoutSpec]:
        """The shapes that `forward` gives for these pixels."""
        with torch.no_grad():
            features = self(pixels)
        specs = {}
        for layout, values in features.items():
            names = [each.name for each in self.tapped[layout]]
            sections = [each.width for each in self.tapped[layout]]
            if layout == GRID_AND_LEVELS:
                grid, levels = Reader(self.network, ["grid", "levels"]).describe(pixels).values()
                names, sections = [*grid.names, *levels.names], [*grid.sections, *levels.sections]
            elif layout == "levels" or not names:
                names.append("pooled" if layout in ("levels", "pooled") else "last map")
                sections.append(values.shape[-1] - (sum(sections) if layout == "levels" else 0))
            specs[layout] = LayoutSpec(layout, tuple(values.shape[1:]), tuple(sections), tuple(names))
        return specs


def check_layout(layout: str) -> None:
    """Refuse an unknown layout."""
    if layout not in LAYOUTS and not re.fullmatch(r"grid:[1-9]\d*", layout):
        raise SeetellError(
            "there is no such layout", where=layout or "layout", remedy=f"Choose one of: {', '.join(LAYOUTS)}, grid:N"
        )


def check_crops(layouts: Sequence[str], crops: int) -> None:
    """Refuse to average grids over crops: their locations do not show the same parts of the image."""
    for layout in layouts:
        if crops > 1 and layout.startswith("grid"):
            raise SeetellError(
                f"the locations of {crops} crops differ, so they cannot be averaged",
                where=layout,
                remedy="Use one crop for grid; ten for pooled, levels and full_network",
            )


def stages(network: nn.Module) -> list[tuple[str, int]]:
    """A network's stages, first to last: the module that ends each, and its channels."""
    if isinstance(network, VGG):
        listed, width = [], 0
        for name, module in network.features.named_children():
            width = module.out_channels if isinstance(module, nn.Conv2d) else width
            if isinstance(module, nn.MaxPool2d):
                listed.append((f"features.{name}", width))
        return listed
    information = getattr(network, "feature_info", None) or ()
    if not information:
        raise SeetellError(
            "timm does not list the stages of this network",
            where=type(network).__name__,
            remedy="Use the layout pooled, grid or full_network",
        )
    return [(stage["module"], stage["num_chs"]) for stage in information]


def _before_last_pooling(network: VGG) -> tuple[str, int]:
    children = list(network.features.named_children())
    last = max(i for i, (_, module) in enumerate(children) if isinstance(module, nn.MaxPool2d))
    return f"features.{children[last - 1][0]}", network.num_features


def annotation_vectors(features: Tensor, width: int, prefix: int = 0) -> Tensor:
    """A feature map as N × locations × channels; transformers' features already are, except for `prefix` tokens."""
    if features.ndim == 4:
        return (features.flatten(2).transpose(1, 2)) if features.shape[1] == width else features.flatten(1, 2)
    return features[:, prefix:]


def put_below(grid: Tensor, row: Tensor) -> Tensor:
    """A grid (N, L, D) with a row (N, W) of features below it, end to end in rows of its width: (N, L + R, D)."""
    width = grid.shape[-1]
    rows = (row.shape[-1] + width - 1) // width  # not −(−a // b), which rounds down in an exported graph
    filled = nn.functional.pad(row, (0, rows * width - row.shape[-1]))
    return torch.cat([grid, filled.view(-1, rows, width)], -2)


def taken_apart(features: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """The inverse of `put_below`: the grid, and the row of `levels` features."""
    rows = (levels + features.shape[-1] - 1) // features.shape[-1]
    return features[..., :-rows, :], features[..., -rows:, :].flatten(-2)[..., :levels]


def average(features: Tensor, width: int, batch: int, axis: int | None = None) -> Tensor:
    """The mean over all locations: N × channels.

    Args:
        features: a map with its channels second or last, vectors, or tokens; a network that works in windows gives
            windows instead of images, those of an image together.
        width: the number of channels.
        batch: how many images there are.
        axis: where the channels are, if it is known.
    """
    if features.ndim == 4 and (axis == 1 or (axis is None and features.shape[1] == width)):
        features = features.mean((2, 3))
    if features.ndim == 2 and features.shape[0] == batch:
        return features
    return features.reshape(batch, -1, width).mean(1)
