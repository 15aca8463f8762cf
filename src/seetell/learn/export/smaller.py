"""Graphs in half or a quarter of the space: weights are rounded, computations are not.

A weight is stored as float16, or as whole numbers from −127 to 127 with one scale a channel, and followed by nodes
that make it a 32-bit number again. These depend on nothing but constants, so that ONNX Runtime carries them out once,
when it loads the graph: it runs as fast as before, on any processor, and differs by the rounding of weights alone.
"""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

SMALLER = {"fp16": "float16", "int8": "int8"}  # as the command line says it → as a bundle does
_FEWEST = 1024  # values; smaller tensors, biases and scales among them, stay as they are


def make_smaller(data: bytes, precision: str) -> bytes:
    """The same graph with its large weights in float16 or int8."""
    model = onnx.load_from_string(data)
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
            whole, scale = quantised(values)
            kept.append(numpy_helper.from_array(whole, f"{tensor.name}_q"))
            kept.append(numpy_helper.from_array(scale, f"{tensor.name}_s"))
            nodes.append(helper.make_node("Cast", [f"{tensor.name}_q"], [f"{tensor.name}_f"], to=TensorProto.FLOAT))
            nodes.append(helper.make_node("Mul", [f"{tensor.name}_f", f"{tensor.name}_s"], [tensor.name]))
    rest = list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(kept)
    model.graph.node.extend([*nodes, *rest])
    smaller: bytes = model.SerializeToString()
    return smaller


def quantised(values: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """w ≈ q · s with one s for each index of the first axis or of the last, whichever is nearer to w."""
    found = []
    for axis in {0, values.ndim - 1}:
        others = tuple(other for other in range(values.ndim) if other != axis)
        scale = np.abs(values).max(axis=others, keepdims=True).astype(np.float32) / 127
        scale[scale == 0] = 1
        whole = np.rint(values / scale).astype(np.int8)
        found.append((float(np.square(values - whole * scale).sum()), whole, scale))
    _, whole, scale = min(found, key=lambda each: each[0])
    return whole, scale
