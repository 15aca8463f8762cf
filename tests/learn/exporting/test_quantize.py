"""Rounded weights are all that a smaller graph differs by."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from helpers.tiny_trained import make
from seetell.learn.encoders import Encoder
from seetell.learn.encoders.engines import LayoutOutputs
from seetell.learn.exporting.heads import make_head
from seetell.learn.exporting.quantize import channel_axes, quantize, quantize_graph
from seetell.learn.onnx_graphs import to_onnx
from seetell.learn.weight_names import constants

Floats = NDArray[np.float32]


@pytest.fixture(scope="module")
def graphs() -> dict[str, bytes]:
    """An encoder, a start and a step: convolutions, products, word vectors."""
    encoder = Encoder.load("test_resnet@random")
    size = encoder.preparation().size
    reader = LayoutOutputs(encoder.for_inference().reader(["grid"]), ["grid"])
    made = {"encoder.onnx": to_onnx(reader, {"pixels": torch.randn(2, 3, size, size)}, ["grid"])}
    return made | {name: data for name, data in make_head(make("attend-soft", encoder))[1].items() if "onnx" in name}


def rounded_by_hand(values: Floats, precision: str, axis: int) -> Floats:
    """Each channel by itself, one weight at a time."""
    if precision == "float16":
        return np.array([np.float32(np.float16(w)) for w in values.ravel()], np.float32).reshape(values.shape)
    channels = []
    for channel in np.moveaxis(values, axis, 0):
        step = max(abs(float(w)) for w in channel.ravel()) / 127
        whole = [round(float(w) / step) * step if step else 0.0 for w in channel.ravel()]
        channels.append(np.array(whole).reshape(channel.shape))
    return np.moveaxis(np.stack(channels), 0, axis).astype(np.float32)


def outputs(data: bytes) -> list[Any]:
    """Of the same random inputs, five rows."""
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    given: dict[str, Any] = {}
    for each in session.get_inputs():
        shape = (5, *each.shape[1:])
        whole = each.type == "tensor(int64)"
        given[each.name] = random.integers(4, 40, shape) if whole else random.normal(size=shape).astype(np.float32)
    return list(session.run(None, given))


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_smaller_graph_computes_with_rounded_weights_and_nothing_else(
    precision: str, graphs: dict[str, bytes]
) -> None:
    for name, data in graphs.items():
        model = onnx.load_from_string(data)
        multiplied = {node.input[1] for node in model.graph.node if node.op_type == "MatMul"}
        for tensor in model.graph.initializer:
            values = numpy_helper.to_array(tensor)
            if values.dtype == np.float32 and values.ndim > 1 and values.size >= 1024:
                axis = 1 if tensor.name in multiplied else 0  # of the outputs
                tensor.CopyFrom(numpy_helper.from_array(rounded_by_hand(values, precision, axis), tensor.name))
        smaller = quantize_graph(data, precision)
        assert len(smaller) < len(data) * {"float16": 0.75, "int8": 0.6}[precision], name
        for mine, wanted, before in zip(
            outputs(smaller), outputs(model.SerializeToString()), outputs(data), strict=True
        ):
            np.testing.assert_allclose(mine, wanted, atol=2e-4 * max(1.0, float(np.abs(wanted).max())), err_msg=name)
            assert mine.shape == before.shape


def test_every_channel_has_its_own_scale() -> None:
    sizes = np.array([1e-4, 1.0, 300.0, 0.0], np.float32)
    normal = np.random.default_rng(1).normal(size=(4, 4, 3, 3)).astype(np.float32)
    for values, axis in ((normal * sizes.reshape(4, 1, 1, 1), 0), (normal[:, :, 0, 0] * sizes, 1)):
        whole, scale = quantize(values, (axis,))
        assert scale.size == 4
        errors = np.abs(values - whole * scale)
        assert (errors <= scale / 2 * 1.0001).all()
        largest = np.abs(np.moveaxis(whole.astype(int), axis, 0)).reshape(4, -1).max(1)
        assert largest.tolist() == [127, 127, 127, 0]


def test_channels_are_the_outputs_of_layers() -> None:
    node, weights = onnx.helper.make_node, {name: np.ones((2, 3, 4)) for name in ("r", "w")}
    weights |= {name: np.ones((3, 4)) for name in ("m", "g", "t", "e")} | {"c": np.ones((4, 3, 2, 2))}
    graph = onnx.helper.make_graph(
        [
            node("Conv", ["x", "c"], ["1"]),
            node("MatMul", ["1", "m"], ["2"]),
            node("Gemm", ["2", "g"], ["3"]),
            node("Gemm", ["3", "t"], ["4"], transB=1),
            node("Gather", ["e", "i"], ["5"]),
            node("GRU", ["5", "w", "r"], ["6"], hidden_size=1),
        ],
        *("g", [], []),
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )
    assert channel_axes(graph) == {"c": (0,), "m": (1,), "g": (1,), "t": (0,), "e": (0,), "w": (0, 1), "r": (0, 1)}


def test_rounding_costs_little_of_normally_distributed_weights() -> None:
    """A step of max/127 has a deviation of step/√12: about 0.7 % of the weights' own at a maximum of three of them."""
    values = np.random.default_rng(2).normal(size=(64, 288)).astype(np.float32)
    whole, scale = quantize(values, (0,))
    error = float(np.std(values - whole * scale) / np.std(values))
    assert error == pytest.approx(float(np.sqrt(np.mean(scale**2) / 12)), rel=0.05)
    assert error < 0.01
    half = values.astype(np.float16).astype(np.float32)
    assert float(np.std(values - half) / np.std(values)) < 3e-4


@pytest.mark.parametrize(("precision", "near"), [("float16", 1e-3), ("int8", 1e-2)])
def test_training_can_start_from_rounded_weights(graphs: dict[str, bytes], precision: str, near: float) -> None:
    data = graphs["captioner-step.onnx"]
    before, after = (constants(onnx.load_from_string(each)) for each in (data, quantize_graph(data, precision)))
    large = [name for name, values in before.items() if values.size >= 1024 and values.ndim > 1]
    assert large
    assert before.keys() <= after.keys()
    for name, values in before.items():
        np.testing.assert_allclose(after[name], values, atol=near * float(np.abs(values).max() + 1e-9))
