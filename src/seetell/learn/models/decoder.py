"""A captioner as `seetell.decoding` wants it: numpy arrays at the boundary, PyTorch behind it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seetell.decoding.protocol import Attended
from seetell.learn.models.captioner import Captioner, State


@dataclass(frozen=True)
class Rows:
    """A captioner's state, and the picture that each row of it tells.

    What the model shares between the rows of a picture is in the state once for each of `held`, the pictures told.
    """

    state: State
    pictures: NDArray[np.int64]
    held: NDArray[np.int64]


class TorchDecoder:
    """Decodes with a captioner as it stands: put it in evaluation mode first."""

    def __init__(self, model: Captioner) -> None:
        self.model = model

    @torch.inference_mode()
    def start(self, features: NDArray[Any]) -> Rows:
        """Look at pictures (B, …)."""
        pictures = np.arange(len(features))
        return Rows(self.model.start(self._tensor(features).float()), pictures, pictures)

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
        return log_probs.cpu().numpy(), Rows(after, state.pictures, state.held), looked

    @torch.inference_mode()
    def select(self, state: Rows, rows: NDArray[Any]) -> Rows:
        """The given rows. A picture's own values, by far the largest part, stay where they are while the rows still
        tell the same pictures in the same order, as they do when beams of a picture change places."""
        pictures = state.pictures[rows]
        held = _side_by_side(pictures)
        order = np.argsort(state.held, kind="stable")
        moved = self._tensor(rows).long()
        found = self._tensor(order[np.searchsorted(state.held, held, sorter=order)]).long()
        stays, kept = np.array_equal(pictures, state.pictures), np.array_equal(held, state.held)
        chosen = {}
        for name, value in state.state.items():
            if name in self.model.shared:
                chosen[name] = value if kept else value.index_select(0, found)
            else:
                chosen[name] = value if stays and name in self.model.constant else value.index_select(0, moved)
        return Rows(chosen, pictures, held)

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(next(self.model.parameters()).device)


def _side_by_side(pictures: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each picture once, if all have as many rows, in ascending order; else the picture of each row."""
    once, counts = np.unique(pictures, return_counts=True)
    return once if np.array_equal(pictures, np.repeat(once, counts[:1])) else pictures
