"""A captioner as a decoder of `seetell.decoding`: numpy arrays at the boundary, PyTorch behind it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seetell.decoding.protocol import Attended
from seetell.learn.models.captioner import CaptionModel, State


@dataclass(frozen=True)
class TorchState:
    """A captioner's state, the image of each of its rows, and the row that each hypothesis continues.

    The parts that the model shares between rows of an image are held once per image, in ascending order.
    """

    state: State
    images: NDArray[np.int64]  # (S,)
    fan: NDArray[np.int64]  # (R,): several hypotheses may continue one row


class TorchDecoder:
    """Decodes with a captioner, which must be in evaluation mode."""

    def __init__(self, model: CaptionModel) -> None:
        self.model = model

    @torch.inference_mode()
    def start(self, features: NDArray[Any]) -> TorchState:
        """Encode images (B, …)."""
        images = np.arange(len(features))
        return TorchState(self.model.start(self._tensor(features).float()), images, images)

    @torch.inference_mode()
    def step(
        self, tokens: NDArray[Any], state: TorchState
    ) -> tuple[NDArray[Any], TorchState, NDArray[Any] | Attended | None]:
        """Read one more word of every row (B,)."""
        log_probs, after, attention = self.model.follow(self._tensor(tokens).long(), self._looked(state))
        looked: NDArray[Any] | Attended | None = None
        if attention is not None:
            gate = after.get("gate")
            looked = (
                attention.cpu().numpy() if gate is None else Attended(attention.cpu().numpy(), gate[:, 0].cpu().numpy())
            )
        return log_probs.cpu().numpy(), TorchState(after, state.images[state.fan], np.arange(len(tokens))), looked

    def _looked(self, state: TorchState) -> State:
        """The model's `look` at each row of the state, for each hypothesis that continues it."""
        shared = {name: state.state[name] for name in self.model.shared}
        held, of, counts = np.unique(state.images, return_inverse=True, return_counts=True)
        if len(held) == len(state.images) and _ascending(state.images):
            looked = self.model.look(state.state)
        elif _ascending(state.images):
            looked = self.model.look(state.state, counts.tolist())
        else:
            owners = self._tensor(of).long()
            mine = {name: value.index_select(0, owners) for name, value in shared.items()}
            looked = self.model.look({**state.state, **mine})
        if np.array_equal(state.fan, np.arange(len(state.images))):
            return {**looked, **shared}
        fan = self._tensor(state.fan).long()
        return {name: shared[name] if name in shared else value.index_select(0, fan) for name, value in looked.items()}

    @torch.inference_mode()
    def select(self, state: TorchState, rows: NDArray[Any]) -> TorchState:
        """The given rows.

        An image's own values, by far the largest part, are not moved while the rows still belong to the same images in
        the same order, as when beams of an image are reordered.
        """
        rows = state.fan[rows]
        own, fan = np.unique(rows, return_inverse=True) if self.model.shared else (rows, np.arange(len(rows)))
        images = state.images[own]
        before, held = np.unique(state.images), np.unique(images)
        moved, found = self._tensor(own).long(), self._tensor(np.searchsorted(before, held)).long()
        stays, kept = np.array_equal(images, state.images), np.array_equal(held, before)
        chosen = {}
        for name, value in state.state.items():
            if name in self.model.shared:
                chosen[name] = value if kept else value.index_select(0, found)
            else:
                chosen[name] = value if stays and name in self.model.constant else value.index_select(0, moved)
        return TorchState(chosen, images, fan)

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(next(self.model.parameters()).device)


def _ascending(images: NDArray[np.int64]) -> bool:
    return bool((np.diff(images) >= 0).all())
