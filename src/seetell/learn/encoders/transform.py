"""Fitted transforms of features: standardising, the full-network embedding's three values, principal components.

They are fitted on the training split alone, and stored in the checkpoint and the bundle; the feature store holds raw
values only.
"""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.learn.encoders.layouts import put_below, taken_apart

_CONSTANT = 1e-9  # a deviation this small relative to the mean is rounding
_FAR = 5.0  # deviations; a feature that few images have may be a hundred deviations away


class Standardise(nn.Module):
    """z = (x − mean) / deviation, feature by feature. A feature that never varied is 0 for every image.

    Args:
        width: how many features a row has. Before fitting or loading, rows pass unchanged.
    """

    mean: Tensor
    scale: Tensor  # 1 / deviation, or 0

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))

    @classmethod
    def fit(cls, batches: Iterable[NDArray[Any]], **settings: Any) -> Self:
        """Learn mean and (population) deviation from the training split's rows.

        Args:
            batches: arrays of rows × features, of any number of rows each; read once, one at a time.
            settings: of the transform.
        """
        count, mean, squares = _moments(batches)
        deviation = np.sqrt(squares / count)
        varies = deviation > _CONSTANT * np.abs(mean)
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
        transform = cls(len(mean), **settings)
        transform.mean.copy_(torch.from_numpy(mean))
        transform.scale.copy_(torch.from_numpy(scale))
        return transform

    def forward(self, rows: Tensor) -> Tensor:
        return (rows - self.mean) * self.scale

    def apply_to(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        """The same for NumPy arrays: rows × features, of any precision, to float32."""
        z: NDArray[np.float32] = (rows.astype(np.float32) - self.mean.numpy()) * self.scale.numpy()
        return z


class FullNetworkTransform(Standardise):
    """The full-network embedding's last two steps (Vilalta et al., section 3.1): standardise, then cut to −1, 0, +1.

    A feature becomes +1 where it is atypically high for the dataset (z > high), −1 where atypically low (z < low), and
    0 in between.

    Args:
        width: how many features a row has.
        high: +0.15, which Garcia-Gasulla et al. (2017) found to do well across datasets.
        low: likewise −0.25.
    """

    high: Tensor
    low: Tensor

    def __init__(self, width: int, high: float = 0.15, low: float = -0.25) -> None:
        super().__init__(width)
        if not low < high:
            raise SeetellError(f"the low threshold, {low}, must be below the high one, {high}", where="full_network")
        self.register_buffer("high", torch.tensor(high))
        self.register_buffer("low", torch.tensor(low))

    def forward(self, rows: Tensor) -> Tensor:
        z = super().forward(rows)
        return (z > self.high).to(z.dtype) - (z < self.low).to(z.dtype)

    def apply_to(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        z = super().apply_to(rows)
        return (z > self.high.item()).astype(np.float32) - (z < self.low.item()).astype(np.float32)


class Principal(Standardise):
    """Principal components of standardised features, clipped to ±5.

    The last features of the row are kept in addition (of `full_network` the last layer's), and both parts are scaled to
    the same length. Tens of thousands of features of all layers become some hundreds, on which a model overfits less.
    They are not whitened: features that hardly vary would then count as much as the others.

    Args:
        width: how many features a row has.
        components: how many directions.
        keep: how many of the last features.
    """

    components: Tensor  # (width, components), each column of length one

    def __init__(self, width: int, components: int = 512, keep: int = 0) -> None:
        super().__init__(width)
        if not 0 <= keep <= width:
            raise SeetellError(f"{keep} features cannot be kept of {width}", where="principal")
        self.keep = keep
        self.register_buffer("components", torch.zeros(width, components))

    @classmethod
    def fit(cls, batches: Iterable[NDArray[Any]], **settings: Any) -> Self:
        """Learn moments and directions; the rows are kept in memory, so pass some thousands, not all."""
        rows = np.concatenate([np.asarray(batch, np.float32) for batch in batches])
        transform: Self = super().fit([rows], **settings)
        z = transform._clipped(torch.from_numpy(rows))
        wanted = transform.components.shape[1]
        if wanted > min(z.shape):
            raise SeetellError(
                f"{z.shape[0]} rows of {z.shape[1]} features have no {wanted} principal components",
                remedy="Use fewer (encoder.components), or train on more images",
            )
        # The rows are fewer than the features, so that it is their products that are decomposed.
        values, vectors = torch.linalg.eigh(z @ z.T)
        values, vectors = values.flip(0)[:wanted], vectors.flip(1)[:, :wanted]
        lengths = values.clamp(min=1e-6 * float(values[0])).sqrt()
        transform.components.copy_(z.T @ (vectors / lengths))  # zᵀu/√λ has the length one
        return transform

    @property
    def width(self) -> int:
        """The number of output features."""
        return self.components.shape[1] + self.keep

    def forward(self, rows: Tensor) -> Tensor:
        parts = [self._clipped(rows) @ self.components]
        if self.keep:
            parts.append(rows[..., -self.keep :])
        length = (self.width / len(parts)) ** 0.5  # the same for both, and values of about one
        return torch.cat([nn.functional.normalize(part, dim=-1) * length for part in parts], -1)

    def apply_to(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        values: NDArray[np.float32] = self(torch.from_numpy(rows.astype(np.float32))).numpy()
        return values

    def _clipped(self, rows: Tensor) -> Tensor:
        return super().forward(rows).clamp(-_FAR, _FAR)


class LevelsBelow(nn.Module):
    """The transform of `grid+levels`: the grid unchanged, the levels standardised and clipped to ±5.

    Args:
        levels: fitted on the levels, or of their number.
    """

    def __init__(self, levels: Standardise) -> None:
        super().__init__()
        self.levels = levels

    def forward(self, features: Tensor) -> Tensor:
        grid, row = taken_apart(features, len(self.levels.mean))
        return put_below(grid, self.levels(row).clamp(-_FAR, _FAR))


def _moments(batches: Iterable[NDArray[Any]]) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    """How many rows there are, their mean, and the sum of squared departures from it.

    Batches are merged by the parallel formula of Chan, Golub and LeVeque (1983), which does not subtract large sums.
    """
    count, mean, squares = 0, np.zeros(0), np.zeros(0)
    for batch in batches:
        rows = np.asarray(batch, np.float64)
        if len(rows) == 0:
            continue
        here = rows.mean(0)
        with np.errstate(invalid="ignore"):  # infinity is refused below
            around = np.square(rows - here).sum(0)
        if count == 0:
            count, mean, squares = len(rows), here, around
            continue
        total = count + len(rows)
        apart = here - mean
        mean = mean + apart * (len(rows) / total)
        squares = squares + around + np.square(apart) * (count * len(rows) / total)
        count = total
    if count == 0:
        raise SeetellError("there are no rows to fit the features' transform on", remedy="Is the training split empty?")
    if not np.isfinite(squares).all():
        raise SeetellError("some features are not finite numbers, so their transform cannot be fitted")
    return count, mean, squares
