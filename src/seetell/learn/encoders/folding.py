"""Batch normalisation folded into the convolutions before it: the same values in two thirds of the time, on a CPU.

Evaluating, a normalisation is a fixed scale and shift of each channel, and so is a change of the convolution's weights:
γ · (w∗x + b − μ) / √(σ² + ε) + β = (w γ/√(σ² + ε)) ∗ x + (b − μ) γ/√(σ² + ε) + β.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

from seetell.learn.encoders.taps import find_batch_norms


def fold_batch_norms(network: nn.Module, run: Callable[[nn.Module], Tensor]) -> nn.Module:
    """Fold in place, and give the network back; where a normalisation was, its activation (if any) stays.

    Args:
        network: in evaluation mode; not for training afterwards.
        run: one pass through a network, whose output is the same after folding as before.
    """
    with torch.no_grad():
        before = run(network)
        for convolution_name, norm_name in find_batch_norms(network, lambda: run(network)):
            convolution, norm = network.get_submodule(convolution_name), network.get_submodule(norm_name)
            assert isinstance(convolution, nn.Conv2d)
            assert isinstance(norm, nn.BatchNorm2d)
            statistics = (norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias)
            weight, bias = fuse_conv_bn_weights(convolution.weight, convolution.bias, *statistics)  # type: ignore[arg-type]
            convolution.weight, convolution.bias = weight, bias
            activation = getattr(norm, "act", None)  # timm's BatchNormAct2d
            network.set_submodule(norm_name, nn.Identity() if activation is None else nn.Sequential(activation))
        after = run(network)
    # A convolution whose output is also used elsewhere must not be folded, and that cannot be seen from outside.
    if not torch.allclose(before, after, rtol=1e-3, atol=1e-3 * float(before.abs().max())):
        raise RuntimeError("the network does not give the same values with its batch normalisations folded")
    return network
