"""The names of weights in a bundle's graphs, so that training can start from a bundle.

The exporter keeps the names of a module's tensors, except of matrices that it stores transposed, under a number. Such a
matrix gets its name back, with the suffix `TRANSPOSED`. A tensor into which a batch normalisation was folded no longer
holds the module's values: it gets the suffix `FOLDED`.
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn

from seetell.bundle import Bundle, SequencePart

TRANSPOSED = ".turned"  # as in bundles that exist already
FOLDED = ".folded"
_GRU = re.compile(r"(.*)\.onnx_([wrb])")


def keep_names(graph: bytes, module: nn.Module) -> bytes:
    """The same graph, with the module's names for its weights."""
    model = onnx.load_from_string(graph)
    known = module.state_dict()
    transposed = {
        (tensor.T.shape, tensor.T.contiguous().cpu().numpy().tobytes()): name
        for name, tensor in known.items()
        if tensor.ndim == 2 and tensor.dtype == torch.float32
    }
    renamed: dict[str, str] = {}
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.name in known:
            if not np.array_equal(values, known[tensor.name].cpu().numpy()):
                renamed[tensor.name] = tensor.name + FOLDED
        elif (name := transposed.pop((torch.Size(tensor.dims), values.tobytes()), "")) != "":
            renamed[tensor.name] = name + TRANSPOSED
        tensor.name = renamed.get(tensor.name, tensor.name)
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = renamed.get(name, name)
    data: bytes = model.SerializeToString()
    return data


def head_weights(bundle: Bundle, kind: str) -> dict[str, Tensor]:
    """The weights of a bundle's captioner, tagger or retriever, under the names of the exported module."""
    weights: dict[str, Tensor] = {}
    for graph in _graphs(bundle, kind):
        for name, values in constants(onnx.load_from_string(bundle.read(graph))).items():
            if not name.startswith("model.") or name.endswith(FOLDED):
                continue
            name = name.removeprefix("model.")
            if gru := _GRU.fullmatch(name):
                weights |= _gru_weights(gru[1], gru[2], values)
            elif name.endswith(TRANSPOSED):
                weights[name.removesuffix(TRANSPOSED)] = torch.from_numpy(values.T.copy())
            else:
                weights[name] = torch.from_numpy(values.copy())
    return weights


def _graphs(bundle: Bundle, kind: str) -> Iterable[str]:
    head = next(head for head in bundle.manifest.heads if kind == head.KIND)
    parts = [getattr(head, name, None) for name in ("sequence", "classifier")]
    for part in (head, *parts):
        names = ("start", "step") if isinstance(part, SequencePart) else ("graph", "images", "texts")
        yield from (name for each in names if isinstance(name := getattr(part, each, None), str))


def constants(model: onnx.ModelProto) -> Mapping[str, NDArray[np.float32]]:
    """Every constant by name; quantized ones (`seetell.learn.exporting.quantize`) as 32-bit floats again."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    whole = {}
    for name, values in stored.items():
        if name.endswith("_h") and values.dtype == np.float16:
            whole[name.removesuffix("_h")] = values.astype(np.float32)
        elif name.endswith("_q") and values.dtype == np.int8:
            whole[name.removesuffix("_q")] = values * stored[f"{name.removesuffix('_q')}_s"]
        elif values.dtype == np.float32:
            whole[name] = values
    return whole


def _gru_weights(name: str, part: str, values: NDArray[np.float32]) -> dict[str, Tensor]:
    """PyTorch's weights of one direction or two from ONNX's, with gates in PyTorch's order r, z, h."""
    weights = {}
    for values_of_one, end in zip(values, ("_l0", "_l0_reverse"), strict=False):
        names = {"w": ["weight_ih"], "r": ["weight_hh"], "b": ["bias_ih", "bias_hh"]}[part]
        for each, gates in zip(names, np.split(values_of_one, len(names)), strict=True):
            z, r, h = np.split(gates, 3)
            weights[f"{name}.{each}{end}"] = torch.from_numpy(np.concatenate([r, z, h]))
    return weights
