"""Weight-only quantization: graphs in half or a quarter of the space, with computations in 32 bits.

A weight is stored as float16, or as integers from −127 to 127 with one scale per channel (an output of a layer, a word
vector), followed by nodes that convert it back to float32. These depend on constants alone, so ONNX Runtime evaluates
them once, when it loads the graph: it runs as fast as before, on any processor, and differs only by the rounding of
weights.
"""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from seetell.bundle import Bundle

PRECISIONS = ("float16", "int8")
_FEWEST = 1024  # values; smaller tensors, such as biases and scales, are not quantized


def precision_of(bundle: Bundle) -> str | None:
    """The precision of a bundle's quantized weights; None if they are not quantized."""
    precision = bundle.manifest.precision
    return precision if precision in PRECISIONS else None


def quantize_graph(data: bytes, precision: str) -> bytes:
    """The same graph with its large weights in float16 or int8."""
    model = onnx.load_from_string(data)
    axes = channel_axes(model.graph)
    kept, nodes = [], []
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor) if tensor.data_type == TensorProto.FLOAT else None
        if values is None or values.size < _FEWEST or values.ndim < 2:
            kept.append(tensor)
        elif precision == "float16":
            largest = np.finfo(np.float16).max
            kept.append(
                numpy_helper.from_array(np.clip(values, -largest, largest).astype(np.float16), f"{tensor.name}_h")
            )
            nodes.append(helper.make_node("Cast", [f"{tensor.name}_h"], [tensor.name], to=TensorProto.FLOAT))
        else:
            integers, scale = quantize(values, axes.get(tensor.name, (0,)))
            kept.append(numpy_helper.from_array(integers, f"{tensor.name}_q"))
            kept.append(numpy_helper.from_array(scale, f"{tensor.name}_s"))
            nodes.append(helper.make_node("Cast", [f"{tensor.name}_q"], [f"{tensor.name}_f"], to=TensorProto.FLOAT))
            nodes.append(helper.make_node("Mul", [f"{tensor.name}_f", f"{tensor.name}_s"], [tensor.name]))
    rest = list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(kept)
    model.graph.node.extend([*nodes, *rest])
    quantized: bytes = model.SerializeToString()
    return quantized


def channel_axes(graph: onnx.GraphProto) -> dict[str, tuple[int, ...]]:
    """The channel axes of each weight. Where batch normalisations were folded into convolutions, weights of one channel
    may be a thousand times those of another, and a common scale would round the small ones to 0."""
    dimensions = {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    axes: dict[str, tuple[int, ...]] = {}
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name not in dimensions or name in axes:
                continue
            match node.op_type, index:
                case (("GRU" | "LSTM" | "RNN"), _):
                    axes[name] = (0, 1)  # direction, gate
                case "MatMul", 1:
                    axes[name] = (dimensions[name] - 1,)
                case "Gemm", 1 if not any(each.name == "transB" and each.i for each in node.attribute):
                    axes[name] = (1,)
                case _:
                    axes[name] = (0,)  # convolutions, word vectors
    return axes


def quantize(values: NDArray[np.float32], axes: tuple[int, ...]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """w ≈ q · s with one s for each channel, whose largest weight is 127 s."""
    others = tuple(axis for axis in range(values.ndim) if axis not in axes)
    scale = np.abs(values).max(axis=others, keepdims=True).astype(np.float32) / 127
    scale[scale == 0] = 1
    return np.rint(values / scale).astype(np.int8), scale
