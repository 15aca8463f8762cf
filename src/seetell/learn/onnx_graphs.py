"""PyTorch modules as ONNX graphs: the one exporter, for bundles and for the encoders' fast engine."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

OPSET = 18
IR = 8  # what ONNX Runtime 1.17 reads; the exporter writes newer numbers without needing them
_NOISY = ("torch.onnx", "torch.export", "torch.fx", "torch._dynamo", "torch.__trace", "onnxscript", "onnx_ir")


def to_onnx(module: nn.Module, inputs: Mapping[str, Tensor], outputs: Sequence[str], *, any_rows: bool = True) -> bytes:
    """A module as a self-contained ONNX graph.

    Args:
        module: takes the inputs by position.
        inputs: an example of each, by name.
        outputs: the names of the graph's outputs.
        any_rows: leave the number of rows free, and of `tokens` with two dimensions the number of words; the examples
            must then have two rows or more. Otherwise the graph takes inputs of the examples' shapes only.
    """
    with quietly(), torch.no_grad():
        program = torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=_dynamic_shapes(module, inputs) if any_rows else None,
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    model.ir_version = IR
    # The source location of each node is half of a small file.
    graph = model.graph
    for each in (model, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        each.ClearField("metadata_props")
        each.ClearField("doc_string")
    data: bytes = model.SerializeToString()
    return data


def _dynamic_shapes(module: nn.Module, inputs: Mapping[str, Tensor]) -> Any:
    rows, words = Dim("rows"), Dim("words")
    shapes = [
        {0: rows, 1: words} if name == "tokens" and value.ndim == 2 else {0: rows} for name, value in inputs.items()
    ]
    # Of a module with one argument and then any number of them, the shapes are nested like its signature.
    return (shapes[0], tuple(shapes[1:])) if getattr(module, "takes_states", False) else tuple(shapes)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Silence the exporters' warnings and logs about their own internals."""
    loggers = [logging.getLogger(name) for name in _NOISY]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        # A failing export also prints the network's graph on the standard error.
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
