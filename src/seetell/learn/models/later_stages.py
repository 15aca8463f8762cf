"""The last stages of a network, trained as part of a model from stored maps of an earlier stage.

The first stages of a network change least when it is trained for something new, and running them takes most of the
time. With the layout `grid:N` their map is stored once; the stages after it, up to the network's last grid, are part of
the model and trained with it. A bundle keeps the encoder unchanged, for all heads, and these stages in the head.
"""

import copy
import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from seetell.learn.encoders import Encoder
from seetell.learn.encoders.layouts import annotation_vectors, stages
from seetell.learn.recipes import RecipeError

TOLERANCE = 1e-3  # between the network and its stages in sequence; their values are of the order of one


class LaterStages(nn.Module):
    """The stages after `grid:N`, and a transform of their features.

    Args:
        encoder: the network.
        layout: `grid:N`, the stored map.
        then: the transform of the last grid's features.
        learning_rate: of these stages.
    """

    def __init__(self, encoder: Encoder, layout: str, then: nn.Module, learning_rate: float = 1e-5) -> None:
        super().__init__()
        self.learning_rate, self.then = learning_rate, then
        folded = encoder.for_inference()  # without batch normalisation, training takes two thirds of the time
        self.encoder = nn.Sequential(*_after(folded.network, _stage(encoder, layout))).requires_grad_()
        self.width: int = encoder.network.num_features  # type: ignore[assignment]
        self._check(encoder, layout)

    @torch.no_grad()
    def _check(self, encoder: Encoder, layout: str) -> None:
        """Refuse networks whose stages are not a plain sequence."""
        size = encoder.preparation().size
        pixels = torch.randn(1, 3, size, size, generator=torch.Generator().manual_seed(0))
        read = encoder.encode(pixels, [layout, "grid"])
        self.encoder.eval()
        try:
            found = self._grid(read[layout])
            fits = found.shape == read["grid"].shape and bool((found - read["grid"]).abs().max() < TOLERANCE)
        except RuntimeError:
            fits = False
        if not fits:
            raise RecipeError(
                f"the later stages of {encoder.name} cannot be run on their own",
                where="[encoder] later_stages",
                remedy="Train the network from images: encoder.train = true",
            )

    def train(self, mode: bool = True) -> "LaterStages":
        """Normalisations that could not be folded keep their statistics: small batches would distort them."""
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, features: Tensor) -> Tensor:
        """(B, locations, channels) of stage N → the last grid (B, locations, features), transformed."""
        transformed: Tensor = self.then(self._grid(features))
        return transformed

    @torch.no_grad()
    def put_into(self, encoder: Encoder, layout: str) -> Encoder:
        """A copy of the original encoder that ends in these trained stages.

        A normalisation that was folded into its convolution only adds the convolution's bias.
        """
        changed = copy.deepcopy(encoder)
        stages, trained = nn.Sequential(*_after(changed.network, _stage(changed, layout))), self.encoder.state_dict()
        if stages.state_dict().keys() == trained.keys():  # nothing could be folded
            stages.load_state_dict(trained)
            return changed
        names = {id(module): name for name, module in stages.named_modules()}
        for tap in encoder.taps:
            layer = changed.network.get_submodule(tap.layer)
            if id(layer) not in names:
                continue
            weight, bias = (trained[f"{names[id(layer)]}.{which}"] for which in ("weight", "bias"))
            layer.weight.copy_(weight)  # type: ignore[operator]
            if tap.batch_norm:
                norm = changed.network.get_submodule(tap.batch_norm)
                assert isinstance(norm, nn.BatchNorm2d)
                assert norm.running_mean is not None
                assert norm.running_var is not None
                norm.running_mean.zero_()
                norm.running_var.fill_(1 - norm.eps)
                norm.weight.fill_(1)
                norm.bias.copy_(bias)
            else:
                layer.bias.copy_(bias)  # type: ignore[operator]
        return changed

    def _grid(self, features: Tensor) -> Tensor:
        side = math.isqrt(features.shape[1])
        given = features.view(-1, side, side, features.shape[2]).permute(0, 3, 1, 2)  # channels stay last in memory
        return annotation_vectors(self.encoder(given), self.width)


def _stage(encoder: Encoder, layout: str) -> str:
    """The last module of the stage of `grid:N`."""
    listed, number = stages(encoder.network), layout.removeprefix("grid:")
    if number == layout or int(number) > len(listed):
        raise RecipeError(
            f"there is nothing after {layout}",
            where="[encoder] later_stages",
            remedy=f"Set encoder.layout to grid:1 … grid:{len(listed)}",
        )
    return listed[int(number) - 1][0]


def _after(network: nn.Module, name: str) -> Iterator[nn.Module]:
    """The modules after `name`, in order, up to the pooling of the last map."""
    head, _, rest = name.partition(".")
    children = list(network.named_children())
    position = [child for child, _ in children].index(head)
    if rest:
        yield from _after(children[position][1], rest)
    for child, module in children[position + 1 :]:
        if child in ("global_pool", "pre_logits", "head"):
            return
        yield module
