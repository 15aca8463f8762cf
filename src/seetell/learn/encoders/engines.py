"""Engines that run a frozen network: ONNX Runtime on a CPU, in two thirds of PyTorch's time; PyTorch elsewhere.

The graph is made in memory, for one square of one size; for EfficientNet-Lite2 that takes some seconds. The device and
the network decide which engine runs, never the number of images, so that an image's features do not depend on the
images around it.
"""

import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seetell.learn.encoders.encoder import Encoder
from seetell.learn.onnx_graphs import to_onnx
from seetell.progress import SILENT, Progress

Features = dict[str, NDArray[np.float32]]  # layout → images × its shape


class Engine(Protocol):
    """A network that is ready to run, from any number of threads."""

    def __call__(self, pixels: Tensor) -> Features:
        """Features of prepared pixels, images × crops × 3 × H × W, averaged over the crops."""
        ...


class LayoutOutputs(nn.Module):
    """An encoder in the form that can be exported: pixels to several layouts in a fixed order."""

    def __init__(self, reader: nn.Module, layouts: Sequence[str]) -> None:
        super().__init__()
        self.reader, self.layouts = reader, tuple(layouts)

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        features = self.reader(pixels)
        return tuple(features[layout] for layout in self.layouts)


class OnnxEngine:
    """ONNX Runtime, running in the calling thread only.

    Args:
        encoder: from `Encoder.for_inference`, on the CPU.
        layouts: computed in one pass.
        size: of the squares.

    Raises:
        Exception: of any kind, if the network cannot be exported, or the graph's features differ from PyTorch's.
    """

    def __init__(self, encoder: Encoder, layouts: Sequence[str], size: int) -> None:
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]

        self.layouts = list(layouts)
        module = LayoutOutputs(encoder.reader(layouts), layouts).eval()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors come back as exceptions
        graph = to_onnx(module, {"pixels": torch.zeros(1, 3, size, size)}, self.layouts, any_rows=False)
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        # With other pixels than the graph was made with: whatever depended on their values has become a constant.
        pixels = torch.linspace(-1, 1, 3 * size * size).view(1, 3, size, size)
        with torch.inference_mode():
            expected = module(pixels)
        for layout, found, wanted in zip(self.layouts, self._run(pixels.numpy()), expected, strict=True):
            near = 1e-3 * float(wanted.abs().max())
            if not np.allclose(found, wanted.numpy(), rtol=1e-3, atol=near, equal_nan=True):
                raise ValueError(f"its {layout} features differ from PyTorch's")

    def __call__(self, pixels: Tensor) -> Features:
        images, crops = pixels.shape[:2]
        squares = pixels.flatten(0, 1).contiguous().numpy()
        # One at a time, which fits the processor's cache: batches are no faster, and slower for VGG.
        columns = zip(*(self._run(squares[index : index + 1]) for index in range(len(squares))), strict=True)
        features = {layout: np.concatenate(rows) for layout, rows in zip(self.layouts, columns, strict=True)}
        if crops == 1:
            return features
        return {name: rows.reshape(images, crops, *rows.shape[1:]).mean(1) for name, rows in features.items()}

    def _run(self, square: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        found: list[NDArray[np.float32]] = self._session.run(self.layouts, {"pixels": square})
        return found


class TorchEngine:
    """PyTorch, on the encoder's device.

    Args:
        encoder: from `Encoder.for_inference`.
        layouts: computed in one pass.
    """

    def __init__(self, encoder: Encoder, layouts: Sequence[str]) -> None:
        self.encoder, self.layouts = encoder, tuple(layouts)
        self._own = threading.local()  # each thread's replica: a network serves one pass at a time

    def __call__(self, pixels: Tensor) -> Features:
        if not hasattr(self._own, "encoder"):
            self._own.encoder = self.encoder.replica()
        features = self._own.encoder.encode(pixels, self.layouts)
        return {layout: each.float().cpu().numpy() for layout, each in features.items()}


def fastest_engine(
    encoder: Encoder,
    layouts: Sequence[str],
    size: int,
    device: torch.device,
    progress: Progress = SILENT,
) -> Engine:
    """The fastest engine for an encoder on a device.

    Args:
        encoder: as loaded; the engine runs an optimised copy.
        layouts: computed in one pass.
        size: of the squares.
        progress: gets a message if the network can only run in PyTorch, which is slower.
    """
    ready = encoder.for_inference().to(device)
    if device.type == "cpu":
        try:
            return OnnxEngine(ready, layouts, size)
        except Exception as error:  # the exporter and the network's own code may raise anything
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
            progress.message(
                f"{encoder.name} runs in PyTorch, which is slower: it cannot be exported to ONNX ({reason})"
            )
    return TorchEngine(ready, layouts)
