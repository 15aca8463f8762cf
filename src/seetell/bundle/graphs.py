"""Checks that ONNX graphs are nothing but data: no file other than the graph itself is ever opened.

An ONNX file may say that some of its tensors are in other files, anywhere on the disk, and some of ONNX Runtime's own
operators (a compiled "context" of another processor, for one) name files, too. Neither is allowed in a bundle. The
file is walked as protocol buffers are laid out (https://protobuf.dev/programming-guides/encoding/), along the fields of
`onnx.proto` that can hold a tensor or a node. Nothing is interpreted, and only ONNX's standard operators are allowed.
"""

from collections.abc import Iterator

from seetell.bundle.schema import EXPORT_AGAIN
from seetell.errors import BundleError

STANDARD = (b"", b"ai.onnx")
_DEPTH = 16

# Message → field number → the message that the field holds.
_NESTED: dict[str, dict[int, str]] = {
    "model": {7: "graph", 8: "opset", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "function": {7: "node", 9: "opset", 11: "attribute"},
    "tensor": {},
    "opset": {},
}
_TRAINING, _NODE_DOMAIN, _OPSET_DOMAIN, _EXTERNAL, _LOCATION = 20, 7, 1, 13, 14


def check_graph(data: bytes, where: str) -> None:
    """Refuse what is not ONNX, is cut off, points at other files, or uses operators that ONNX does not define."""
    try:
        found = _walk(memoryview(data), "model", where, 0)
    except (IndexError, ValueError):
        raise _refused("this graph is damaged or cut off", where) from None
    if "graph" not in found:
        raise _refused("this is not an ONNX graph", where)


def _walk(data: memoryview, kind: str, where: str, depth: int) -> set[str]:
    """Check one message; returns the kinds of messages directly in it."""
    if depth > _DEPTH:
        raise _refused("this graph is nested too deeply", where)
    found = set()
    for number, value in _fields(data):
        inner = _NESTED[kind].get(number)
        if inner is not None:
            if isinstance(value, int):
                raise ValueError(number)
            _walk(value, inner, where, depth + 1)
            found.add(inner)
        elif kind == "tensor" and (number == _EXTERNAL or (number == _LOCATION and value != 0)):
            raise _refused("this graph keeps tensors in other files, which a bundle may not", where)
        elif kind == "model" and number == _TRAINING:
            raise _refused("this is a training graph", where)
        elif (kind, number) in (("node", _NODE_DOMAIN), ("opset", _OPSET_DOMAIN)):
            domain = b"" if isinstance(value, int) else bytes(value[:100])
            if domain not in STANDARD:
                raise _refused(f"this graph uses operators of {domain.decode('latin-1')!a}, not ONNX's own", where)
    return found


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Field numbers and values: a number, or the bytes of text, of a message or of packed numbers."""
    offset = 0
    while offset < len(data):
        key, offset = _number(data, offset)
        number, form = key >> 3, key & 7
        if form == 0:
            value, offset = _number(data, offset)
            yield number, value
            continue
        if form == 2:
            size, offset = _number(data, offset)
        elif form in (1, 5):
            size = 8 if form == 1 else 4
        else:
            raise ValueError(form)
        if number == 0 or size > len(data) - offset:
            raise ValueError(size)
        yield number, data[offset : offset + size]
        offset += size


def _number(data: memoryview, offset: int) -> tuple[int, int]:
    """A variable-length number, and the offset of its end."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7
        if shift > 63:
            raise ValueError(shift)


def _refused(problem: str, where: str) -> BundleError:
    return BundleError(problem, where=where, remedy=EXPORT_AGAIN)
