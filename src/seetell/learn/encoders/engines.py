"""What runs a frozen network: ONNX Runtime on a CPU, where it takes two thirds of PyTorch's time; PyTorch elsewhere.

The graph is made in memory for one square of one size, by following the network's Python through a pass. That takes
EfficientNet-Lite2 a second; the exporter that bundles are made with, whose graphs take any number of rows, takes ten.
Which engine runs is settled by the device and the network, never by how much there is to do, so that an image's
features do not depend on the images around it.
"""

import contextlib
import io
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol
from unittest import mock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seetell.learn.encoders.encoder import Encoder

OPSET = 18

Features = dict[str, NDArray[np.float32]]  # layout → images × its shape


class Engine(Protocol):
    """A network ready to run, from any number of threads."""

    def __call__(self, pixels: Tensor) -> Features:
        """Features of prepared pixels, images × crops × 3 × H × W, averaged over the crops."""
        ...


class Reading(nn.Module):
    """An encoder as exporters want it: pixels to several layouts in a fixed order."""

    def __init__(self, reader: nn.Module, layouts: Sequence[str]) -> None:
        super().__init__()
        self.reader, self.layouts = reader, tuple(layouts)

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        features = self.reader(pixels)
        return tuple(features[layout] for layout in self.layouts)


class OnnxEngine:
    """ONNX Runtime, in the thread that calls it and in no other.

    Args:
        encoder: made `for_inference`, on the CPU.
        layouts: which to read, in one pass.
        size: of the squares.

    Raises:
        Exception: of any kind, if the network cannot be made a graph that gives what PyTorch gives.
    """

    def __init__(self, encoder: Encoder, layouts: Sequence[str], size: int) -> None:
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]

        self.layouts = list(layouts)
        module = Reading(encoder.reader(layouts), layouts).eval()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors come back as exceptions
        graph = _graph(module, torch.zeros(1, 3, size, size), self.layouts)
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        # On other pixels than the graph was made with: what depended on their values has become a constant in it.
        pixels = torch.linspace(-1, 1, 3 * size * size).view(1, 3, size, size)
        with torch.inference_mode():
            expected = module(pixels)
        for layout, found, wanted in zip(self.layouts, self._run(pixels.numpy()), expected, strict=True):
            near = 1e-3 * float(wanted.abs().max())
            if not np.allclose(found, wanted.numpy(), rtol=1e-3, atol=near, equal_nan=True):
                raise ValueError(f"the graph gives another {layout}")

    def __call__(self, pixels: Tensor) -> Features:
        images, crops = pixels.shape[:2]
        squares = pixels.flatten(0, 1).contiguous().numpy()
        # One at a time, which stays in the processor's cache: several are no faster, and VGG's four are slower.
        columns = zip(*(self._run(squares[place : place + 1]) for place in range(len(squares))), strict=True)
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
        encoder: made `for_inference`.
        layouts: which to read, in one pass.
    """

    def __init__(self, encoder: Encoder, layouts: Sequence[str]) -> None:
        self.encoder, self.layouts = encoder, tuple(layouts)
        self._own = threading.local()  # each thread's replica: a network being read serves one pass at a time

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
    say: Callable[[str], object] = lambda line: None,
) -> Engine:
    """What runs an encoder fastest on a device.

    Args:
        encoder: as loaded; what runs is a copy made for it.
        layouts: which to read.
        size: of the squares.
        device: where to run.
        say: who is told if a network can only run slowly.
    """
    ready = encoder.for_inference().to(device)
    if device.type == "cpu":
        try:
            return OnnxEngine(ready, layouts, size)
        except Exception as error:  # exporters raise whatever occurs to them and to the network's own code
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
            say(f"{encoder.name} runs in PyTorch, which is slower: it cannot be made an ONNX graph ({reason})")
    return TorchEngine(ready, layouts)


def _graph(module: nn.Module, pixels: Tensor, outputs: Sequence[str]) -> bytes:
    """A module as an ONNX graph for exactly these pixels' shape."""
    buffer: Any = io.BytesIO()
    # The exporter asks whether its log was on before, by a function that it forgets to call, and so turns it on:
    # where it fails, it would print the whole network on the standard output.
    unlogged = mock.patch.object(torch._C, "_jit_is_onnx_log_enabled", False, create=True)
    with quietly(), unlogged, torch.no_grad():
        torch.onnx.export(
            module,
            (pixels,),
            buffer,
            input_names=["pixels"],
            output_names=list(outputs),
            opset_version=OPSET,
            dynamo=False,
            verbose=False,
        )
    data: bytes = buffer.getvalue()
    return data


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Exporters speak of their own inner workings, by warnings and by logging."""
    noisy = [
        logging.getLogger(name) for name in ("torch.onnx", "torch.export", "torch.__trace", "onnxscript", "onnx_ir")
    ]
    levels = [logger.level for logger in noisy]
    try:
        for logger in noisy:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(noisy, levels, strict=True):
            logger.setLevel(level)
