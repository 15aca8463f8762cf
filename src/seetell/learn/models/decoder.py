"""A captioner as `seetell.decoding` wants it: numpy arrays at the boundary, PyTorch behind it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seetell.decoding.protocol import Attended
from seetell.learn.models.captioner import Captioner, State, select


@dataclass(frozen=True)
class Rows:
    """A captioner's state, and the picture that each row of it tells."""

    state: State
    pictures: NDArray[np.int64]


class TorchDecoder:
    """Decodes with a captioner as it stands: put it in evaluation mode first."""

    def __init__(self, model: Captioner) -> None:
        self.model = model

    @torch.inference_mode()
    def start(self, features: NDArray[Any]) -> Rows:
        """Look at pictures (B, …)."""
        return Rows(self.model.start(self._tensor(features).float()), np.arange(len(features)))

    @torch.inference_mode()
    def step(self, tokens: NDArray[Any], state: Rows) -> tuple[NDArray[Any], Rows, NDArray[Any] | Attended | None]:
        """Read one more word of every row (B,)."""
        log_probs, after, attention = self.model.step(self._tensor(tokens).long(), state.state)
        looked: NDArray[Any] | Attended | None = None
        if attention is not None:
            gate = after.get("gate")
            looked = (
                attention.cpu().numpy() if gate is None else Attended(attention.cpu().numpy(), gate[:, 0].cpu().numpy())
            )
        return log_probs.cpu().numpy(), Rows(after, state.pictures), looked

    @torch.inference_mode()
    def select(self, state: Rows, rows: NDArray[Any]) -> Rows:
        """The given rows. A picture's own values, by far the largest part, stay where they are while the rows still
        tell the same pictures in the same order, as they do when beams of a picture change places."""
        pictures = state.pictures[rows]
        same = np.array_equal(pictures, state.pictures)
        kept = {name: value for name, value in state.state.items() if same and name in self.model.constant}
        moved = {name: value for name, value in state.state.items() if name not in kept}
        return Rows({**select(moved, self._tensor(rows).long()), **kept}, pictures)

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(next(self.model.parameters()).device)
