"""The LSTM of the papers (Zaremba et al.; Xu, section 3.1.2), with one bias per gate.

    i = σ(W_i x + U_i h + b_i)        f = σ(W_f x + U_f h + b_f)        o = σ(W_o x + U_o h + b_o)
    c' = f c + i tanh(W_c x + U_c h + b_c)          h' = o tanh(c')

PyTorch's own has two biases that are only ever added, so that its size differs from the layer table of Vaishali; and
it cannot take an input that depends on its state, as attention needs. The forget gate's bias is initialised to 1, so
that memory lasts from the beginning.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from seetell.learn.models.packing import Packing


class LSTM(nn.Module):
    """One layer. `input` maps inputs to the gates, for all steps at once; `step` does the rest."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.input = nn.Linear(inputs, 4 * units)  # W and b, gates in the order i f o c
        self.recurrent = nn.Linear(units, 4 * units, bias=False)  # U
        nn.init.xavier_uniform_(self.input.weight)
        nn.init.zeros_(self.input.bias)
        with torch.no_grad():
            self.input.bias[units : 2 * units] = 1.0
            for gate in self.recurrent.weight.chunk(4):
                nn.init.orthogonal_(gate)

    def step(self, mapped: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """One step from (h, c), given the input mapped to the gates (B, 4 units)."""
        return self.cell(mapped + self.recurrent(h), c)

    def cell(self, gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """One step, given the gates before their activations (B, 4 units)."""
        i, f, o = gates[:, : 3 * self.units].sigmoid().chunk(3, dim=1)
        c = f * c + i * gates[:, 3 * self.units :].tanh()
        return o * c.tanh(), c

    def forward(self, inputs: Tensor, h: Tensor, c: Tensor, packing: Packing) -> Tensor:
        """Packed inputs (N, inputs) and an initial state → h of every step (N, units)."""
        steps = Steps(self.input(inputs), self.recurrent.weight)
        states = []
        for mapped in packing.split(steps.mapped):
            rows = mapped.shape[0]
            h, c = self.cell(mapped + steps.product(h[:rows]), c[:rows])
            states.append(h)
        return torch.cat(states)


class Steps:
    """Products with one weight matrix at every step of a recurrence, each added to a known term.

    The known term, `mapped` (N, outputs), has the gradient of the sum at every step. So the weight's gradient need not
    be accumulated step by step, in narrow products: it is the product of `mapped`'s gradient and all steps' inputs.
    """

    def __init__(self, mapped: Tensor, weight: Tensor) -> None:
        self.inputs: list[Tensor] = []
        self.fixed = weight.detach()
        self.mapped: Tensor = _Late.apply(mapped, weight, self.inputs) if torch.is_grad_enabled() else mapped

    def product(self, inputs: Tensor) -> Tensor:
        """W x of a step (R, inputs); steps follow the order of `mapped`'s rows."""
        self.inputs.append(inputs.detach())
        return linear(inputs, self.fixed)


class _Late(torch.autograd.Function):
    """The identity of `mapped`, whose backward pass also computes the weight's gradient."""

    @staticmethod
    def forward(ctx: Any, mapped: Tensor, weight: Tensor, inputs: list[Tensor]) -> Tensor:
        ctx.inputs = inputs
        return mapped.view_as(mapped)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (gradient,) = gradients
        return gradient, gradient.t() @ torch.cat(ctx.inputs), None
