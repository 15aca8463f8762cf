"""The LSTM of the documents (Zaremba et al.; Xu, section 3.1.2), with one bias a gate.

    i = σ(W_i x + U_i h + b_i)        f = σ(W_f x + U_f h + b_f)        o = σ(W_o x + U_o h + b_o)
    c' = f c + i tanh(W_c x + U_c h + b_c)          h' = o tanh(c')

PyTorch's own has two biases that are only ever added, so that its size differs from the layer table of Vaishali; and
it cannot take an input that depends on its state, as attention needs. The forget gate's bias starts at 1, so that
memory lasts from the beginning.
"""

import torch
from torch import Tensor, nn


class LSTM(nn.Module):
    """One layer. `input` maps inputs to the gates, for all steps at once; `step` does what is left."""

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
        gates = mapped + self.recurrent(h)
        i, f, o = gates[:, : 3 * self.units].sigmoid().chunk(3, dim=1)
        c = f * c + i * gates[:, 3 * self.units :].tanh()
        return o * c.tanh(), c

    def forward(self, inputs: Tensor, h: Tensor, c: Tensor) -> Tensor:
        """(B, T, inputs) and a first state → h of every step (B, T, units)."""
        states = []
        for mapped in self.input(inputs).unbind(1):
            h, c = self.step(mapped, h, c)
            states.append(h)
        return torch.stack(states, dim=1)
