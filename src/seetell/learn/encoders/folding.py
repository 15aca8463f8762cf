"""Batch normalisation folded into the convolutions before it: the same values in two thirds of the time, on a CPU.

Evaluating, a normalisation is a fixed scale and shift of each channel, and so is a change of the convolution's weights:
γ · (w∗x + b − μ) / √(σ² + ε) + β = (w γ/√(σ² + ε)) ∗ x + (b − μ) γ/√(σ² + ε) + β.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

from seetell.learn.encoders.taps import Tap


def fold_batch_norms(network: nn.Module, taps: Sequence[Tap], run: Callable[[nn.Module], Tensor]) -> bool:
    """Fold in place; where a normalisation was, its activation (if any) stays.

    Args:
        network: in evaluation mode; not for training afterwards.
        taps: its layers, with the normalisations that follow them.
        run: one pass through a network.

    Returns:
        whether the network gives the same output as before. If not, a convolution's output is used elsewhere too, which
        cannot be seen from outside, and the network is of no use any more.
    """
    with torch.no_grad():
        before = run(network)
        for tap in taps:
            if not tap.batch_norm:
                continue
            convolution, norm = network.get_submodule(tap.layer), network.get_submodule(tap.batch_norm)
            assert isinstance(convolution, nn.Conv2d)
            assert isinstance(norm, nn.BatchNorm2d)
            if norm.running_mean is None:  # it normalises by the batch's own statistics, which are not fixed
                continue
            statistics = (norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias)
            weight, bias = fuse_conv_bn_weights(convolution.weight, convolution.bias, *statistics)  # type: ignore[arg-type]
            convolution.weight, convolution.bias = weight, bias
            activation = getattr(norm, "act", None)  # timm's BatchNormAct2d
            network.set_submodule(tap.batch_norm, nn.Identity() if activation is None else activation)
        after = run(network)
    return torch.allclose(before, after, rtol=1e-3, atol=1e-3 * float(before.abs().max()))
