"""Graphs that are more than data are refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from helpers.tiny_bundles import encoder, files, manifest
from seetell.bundle import BundleError, write_bundle
from seetell.bundle.graphs import check_graph


def external(tensor: onnx.TensorProto, location: str = "../../secret.bin") -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location


def test_good_graphs_pass() -> None:
    for name, data in files().items():
        if name.endswith(".onnx"):
            check_graph(data, name)


def test_external_initialisers_are_refused(tmp_path: Path) -> None:
    model = onnx.load_from_string(encoder())
    external(model.graph.initializer[0])
    data = model.SerializeToString()
    with pytest.raises(BundleError, match="other files"):
        check_graph(data, "encoder.onnx")
    with pytest.raises(BundleError, match="other files"):
        write_bundle(tmp_path / "out", manifest(), {**files(), "encoder.onnx": data})


def test_a_location_alone_or_a_flag_alone_is_refused() -> None:
    for part in ("flag", "location"):
        model = onnx.load_from_string(encoder())
        external(model.graph.initializer[0])
        model.graph.initializer[0].ClearField("external_data" if part == "flag" else "data_location")
        with pytest.raises(BundleError, match="other files"):
            check_graph(model.SerializeToString(), "g")


def nested(tensor: onnx.TensorProto, way: str) -> onnx.ModelProto:
    """A model that holds a tensor somewhere unusual."""
    model = onnx.load_from_string(encoder())
    if way == "attribute":
        model.graph.node.append(helper.make_node("Constant", [], ["c"], value=tensor))
    elif way == "tensors":
        model.graph.node[0].attribute.append(helper.make_attribute("many", [tensor]))
    elif way == "subgraph":
        inner = helper.make_graph([helper.make_node("Identity", ["t"], ["y"])], "inner", [], [], [tensor])
        model.graph.node.append(helper.make_node("If", ["x"], ["z"], then_branch=inner, else_branch=inner))
    elif way == "sparse":
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(tensor, tensor, [4]))
    elif way == "function":
        function = helper.make_function(
            "", "f", [], ["c"], [helper.make_node("Constant", [], ["c"], value=tensor)], [helper.make_opsetid("", 17)]
        )
        model.functions.append(function)
    return model


@pytest.mark.parametrize("way", ["attribute", "tensors", "subgraph", "sparse", "function"])
def test_external_tensors_are_found_wherever_they_are(way: str) -> None:
    tensor = numpy_helper.from_array(np.ones(3, np.float32), "t")
    check_graph(nested(tensor, way).SerializeToString(), "g")
    external(tensor)
    with pytest.raises(BundleError, match="other files"):
        check_graph(nested(tensor, way).SerializeToString(), "g")


def test_foreign_operators_are_refused() -> None:
    model = onnx.load_from_string(encoder())
    model.graph.node.append(helper.make_node("EPContext", [], ["x"], domain="com.microsoft", ep_cache_context="/etc/x"))
    with pytest.raises(BundleError, match=r"com\.microsoft"):
        check_graph(model.SerializeToString(), "g")
    model = onnx.load_from_string(encoder())
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    with pytest.raises(BundleError, match=r"ai\.onnx\.ml"):
        check_graph(model.SerializeToString(), "g")


def test_every_cut_and_any_rubbish_is_an_error_or_harmless() -> None:
    good = encoder()
    refused = 0
    for size in range(len(good)):
        try:
            check_graph(good[:size], "g")
        except BundleError:
            refused += 1
    assert refused > 0.9 * len(good)  # a cut between two fields leaves a shorter message; its hash is wrong
    random = np.random.default_rng(0)
    for _ in range(2_000):
        rubbish = bytearray(good)
        for offset in random.integers(len(good), size=3):
            rubbish[offset] = random.integers(256)
        try:
            check_graph(bytes(rubbish), "g")
        except BundleError as error:
            assert error.remedy  # noqa: PT017  (whether it is refused depends on the offset)
    for data in (b"", b"\0", b"ORTM", b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x0f", b"\x38\x01"):
        with pytest.raises(BundleError):
            check_graph(data, "g")


def test_deep_nesting_is_refused_without_recursion_errors() -> None:
    data = b""
    for _ in range(2_000):  # graph → node → attribute → graph …
        attribute = b"\x32" + varint(len(data)) + data
        node = b"\x2a" + varint(len(attribute)) + attribute
        data = b"\x0a" + varint(len(node)) + node
    with pytest.raises(BundleError, match="deeply"):
        check_graph(b"\x3a" + varint(len(data)) + data, "g")


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
