"""A whole model of a few kilobytes, made without PyTorch, whose results are easily computed by hand.

The encoder averages: `pooled` is an image's mean colour, `grid` the mean colours of its quarters. The captioner
follows the colours, the tagger's labels are colours, and the retriever compares colours with words.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from seetell.bundle import (
    Bundle,
    CaptionerPart,
    ClassifierPart,
    Decoding,
    EncoderPart,
    Layout,
    Manifest,
    RetrieverPart,
    Score,
    SequencePart,
    StatePart,
    TaggerPart,
    write_bundle,
)
from seetell.bundle.manifest import canonical_json
from seetell.images import Preparation

SIZE = 8
HEADS = ("captioner", "tagger", "retriever")
WORDS = ["red", "green", "blue", "a", "thing", "and", "n't", "."]
LABELS = ["red", "green", "blue"]
VOCABULARY = "".join(f"{word}\n" for word in ["<pad>", "<start>", "<end>", "<unk>", *WORDS])
PREPARATION = Preparation(size=SIZE, resize=SIZE, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
DIMENSIONS = 5
DESCRIPTION = ("fingerprint", "name", "about", "made_by", "licence", "training_data", "supersedes")

_random = np.random.default_rng(3)
WEIGHTS: dict[str, NDArray[np.float32]] = {
    "E": _random.normal(size=(12, 3)).astype(np.float32),  # words
    "U": _random.normal(size=(3, 3)).astype(np.float32),  # state
    "Z": _random.normal(size=(3, 3)).astype(np.float32) * 4,  # what is seen
    "O": _random.normal(size=(3, 12)).astype(np.float32) * 3,  # output
    "C": (8 * np.eye(3) - 3).astype(np.float32),  # colour → label
    "P": _random.normal(size=(3, DIMENSIONS)).astype(np.float32),
    "T": _random.normal(size=(12, DIMENSIONS)).astype(np.float32),
}
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def graph(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, list[object]]],
    outputs: dict[str, list[object]],
    constants: dict[str, NDArray[np.generic]] | None = None,
    kind: int = FLOAT,
) -> bytes:
    made = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def encoder() -> bytes:
    node = helper.make_node
    return graph(
        [
            node("ReduceMean", ["pixels"], ["pooled"], axes=[2, 3], keepdims=0),
            node("AveragePool", ["pixels"], ["quarters"], kernel_shape=[4, 4], strides=[4, 4]),
            node("Reshape", ["quarters", "shape"], ["flat"]),
            node("Transpose", ["flat"], ["grid"], perm=[0, 2, 1]),
        ],
        {"pixels": (FLOAT, ["n", 3, SIZE, SIZE])},
        {"pooled": ["n", 3], "grid": ["n", 4, 3]},
        {"shape": np.array([0, 3, 4])},
    )


def start() -> bytes:
    node = helper.make_node
    return graph(
        [
            node("ReduceMean", ["features"], ["h"], axes=[1], keepdims=0),
            node("Identity", ["features"], ["annotations"]),
        ],
        {"features": (FLOAT, ["n", 4, 3])},
        {"h": ["n", 3], "annotations": ["n", 4, 3]},
    )


def step() -> bytes:
    node = helper.make_node
    return graph(
        [
            node("Unsqueeze", ["h", "last"], ["column"]),
            node("MatMul", ["annotations", "column"], ["energies"]),
            node("Squeeze", ["energies", "last"], ["flat"]),
            node("Softmax", ["flat"], ["attention"], axis=1),
            node("Unsqueeze", ["attention", "one"], ["row"]),
            node("MatMul", ["row", "annotations"], ["seen"]),
            node("Squeeze", ["seen", "one"], ["context"]),
            node("Gather", ["E", "tokens"], ["word"]),
            node("MatMul", ["h", "U"], ["a"]),
            node("MatMul", ["context", "Z"], ["b"]),
            node("Sum", ["word", "a", "b"], ["sum"]),
            node("Tanh", ["sum"], ["next_h"]),
            node("MatMul", ["next_h", "O"], ["logits"]),
            node("LogSoftmax", ["logits"], ["log_probs"], axis=1),
        ],
        {"tokens": (INT64, ["r"]), "h": (FLOAT, ["r", 3]), "annotations": (FLOAT, ["r", 4, 3])},
        {"log_probs": ["r", 12], "attention": ["r", 4], "next_h": ["r", 3]},
        {"last": np.array([2]), "one": np.array([1]), **{name: WEIGHTS[name] for name in "EUZO"}},
    )


def plain_step() -> bytes:
    """Captions red images with "a red thing": the last word decides what may follow, the mean colour which colour."""
    symbols = VOCABULARY.split()
    follow, colour = np.full((12, 12), -9.0, np.float32), np.zeros((3, 12), np.float32)
    for before, after in ("<start>", "a"), ("red", "thing"), ("green", "thing"), ("blue", "thing"), ("thing", "<end>"):
        follow[symbols.index(before), symbols.index(after)] = 0
    follow[symbols.index("a"), [symbols.index(word) for word in ("red", "green", "blue", "thing")]] = [0, 0, 0, 2]
    for index, word in enumerate(LABELS):
        colour[index, symbols.index(word)] = 4
    node = helper.make_node
    return graph(
        [
            node("ReduceSum", ["annotations", "two"], ["energies"], keepdims=0),
            node("Softmax", ["energies"], ["attention"], axis=1),
            node("Gather", ["follow", "tokens"], ["words"]),
            node("MatMul", ["h", "colour"], ["bonus"]),
            node("Add", ["words", "bonus"], ["logits"]),
            node("LogSoftmax", ["logits"], ["log_probs"], axis=1),
            node("Identity", ["h"], ["next_h"]),
        ],
        {"tokens": (INT64, ["r"]), "h": (FLOAT, ["r", 3]), "annotations": (FLOAT, ["r", 4, 3])},
        {"log_probs": ["r", 12], "attention": ["r", 4], "next_h": ["r", 3]},
        {"two": np.array([2]), "follow": follow, "colour": colour},
    )


def classifier() -> bytes:
    node = helper.make_node
    nodes = [node("MatMul", ["features", "C"], ["logits"]), node("Sigmoid", ["logits"], ["probabilities"])]
    outputs: dict[str, list[object]] = {"logits": ["n", 3], "probabilities": ["n", 3]}
    return graph(nodes, {"features": (FLOAT, ["n", 3])}, outputs, {"C": WEIGHTS["C"]})


def images(weights: NDArray[np.float32] = WEIGHTS["P"]) -> bytes:
    nodes = [helper.make_node("MatMul", ["features", "P"], ["embeddings"])]
    return graph(nodes, {"features": (FLOAT, ["n", 3])}, {"embeddings": ["n", DIMENSIONS]}, {"P": weights})


def texts(weights: NDArray[np.float32] = WEIGHTS["T"]) -> bytes:
    """The mean of the words' vectors; the words after a text's end do not count."""
    node = helper.make_node
    return graph(
        [
            node("Shape", ["tokens"], ["shape"], start=1),
            node("Squeeze", ["shape"], ["width"]),
            node("Range", ["zero", "width", "step"], ["positions"]),
            node("Unsqueeze", ["lengths", "one"], ["ends"]),
            node("Less", ["positions", "ends"], ["inside"]),
            node("Cast", ["inside"], ["mask"], to=FLOAT),
            node("Unsqueeze", ["mask", "two"], ["wide"]),
            node("Gather", ["T", "tokens"], ["vectors"]),
            node("Mul", ["vectors", "wide"], ["kept"]),
            node("ReduceSum", ["kept", "one"], ["sum"], keepdims=0),
            node("Cast", ["ends"], ["count"], to=FLOAT),
            node("Div", ["sum", "count"], ["embeddings"]),
        ],
        {"tokens": (INT64, ["t", "words"]), "lengths": (INT64, ["t"])},
        {"embeddings": ["t", DIMENSIONS]},
        {
            "zero": np.array(0),
            "step": np.array(1),
            "one": np.array([1]),
            "two": np.array([2]),
            "T": weights,
        },
    )


def fitting_words(tokens: NDArray[np.generic], weights: NDArray[np.float32]) -> bytes:
    """The two of some tokens (W,) whose vectors (W, D) match an image's embedding best."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["embeddings", "W"], ["fits"]),
        node("TopK", ["fits", "two"], ["best", "positions"], axis=1),
        node("Gather", ["known", "positions"], ["tokens"]),
    ]
    return graph(
        nodes,
        {"embeddings": (FLOAT, ["n", DIMENSIONS])},
        {"tokens": ["n", 2]},
        {"W": np.ascontiguousarray(weights.T), "two": np.array([2]), "known": tokens},
        helper.np_dtype_to_tensor_dtype(tokens.dtype),
    )


def manifest(heads: tuple[str, ...] = HEADS, preparation: Preparation = PREPARATION) -> Manifest:
    score = Score("toys", "test", "all images", 3, "bundle", {"bleu4": 12.5, "image_to_text": {"r1": 50.0}})
    sequence = SequencePart(
        "start.onnx",
        "step.onnx",
        (StatePart("h", (3,), False), StatePart("annotations", (4, 3), True)),
        attention=True,
        decoding=Decoding(beam=3, maximum_length=6),
    )
    grid = preparation.crops == "centre"
    return Manifest(
        name="tiny",
        about="Captions, tags and search of colours",
        made_by="seetell tests",
        licence="Apache-2.0",
        training_data=("toys: three colours",),
        precision="float32",
        encoder=EncoderPart(
            "averages",
            "0123456789abcdef",
            "encoder.onnx",
            preparation,
            (Layout("pooled", (3,), (3,)), *([Layout("grid", (4, 3), (3,))] if grid else [])),
        ),
        captioner=CaptionerPart("grid", "words.txt", (score,), sequence) if "captioner" in heads else None,
        tagger=TaggerPart("pooled", "labels.txt", (), None, ClassifierPart("tags.onnx", (0.0, 0.0, 0.0), 0))
        if "tagger" in heads
        else None,
        retriever=RetrieverPart(
            "pooled", "query.txt", (score,), "images.onnx", "texts.onnx", "words", "cosine", DIMENSIONS
        )
        if "retriever" in heads
        else None,
    )


def files(heads: tuple[str, ...] = HEADS) -> dict[str, bytes]:
    made = {"encoder.onnx": encoder()}
    if "captioner" in heads:
        made |= {"start.onnx": start(), "step.onnx": step(), "words.txt": VOCABULARY.encode()}
    if "tagger" in heads:
        made |= {"tags.onnx": classifier(), "labels.txt": "".join(f"{label}\n" for label in LABELS).encode()}
    if "retriever" in heads:
        made |= {"images.onnx": images(), "texts.onnx": texts(), "query.txt": VOCABULARY.encode()}
    return made


def write_tiny(path: Path, heads: tuple[str, ...] = HEADS) -> Bundle:
    return write_bundle(path, manifest(heads=heads), files(heads))


def write_colours(path: Path) -> Bundle:
    """A bundle with sensible results: it captions, tags and finds colours."""
    seen = np.zeros((3, DIMENSIONS), np.float32)
    seen[:, :3] = np.eye(3) - 1 / 3  # how far a colour is from grey
    read = np.zeros((12, DIMENSIONS), np.float32)
    read[[VOCABULARY.split().index(label) for label in LABELS]] = seen
    made = {"step.onnx": plain_step(), "images.onnx": images(seen), "texts.onnx": texts(read)}
    return write_bundle(path, manifest(), {**files(), **made})


def copy(source: Path, target: Path) -> Path:
    """A bundle's folder, as it is."""
    target.mkdir()
    for each in source.iterdir():
        (target / each.name).write_bytes(each.read_bytes())
    return target


def forge(path: Path, change: Callable[[Any], object]) -> Path:
    """Change the manifest as somebody who knows the format would: with a valid checksum and fingerprint."""
    content = json.loads((path / "bundle.json").read_text(encoding="utf-8"))
    change(content)
    del content["checksum"]
    inner = {k: v for k, v in content.items() if k not in DESCRIPTION}
    for kind in ("captioner", "tagger", "retriever"):
        if isinstance(inner.get(kind), dict):
            inner[kind] = {k: v for k, v in inner[kind].items() if k not in ("scores", "training_settings")}
    content["fingerprint"] = hashlib.sha256(canonical_json(inner)).hexdigest()
    content["checksum"] = hashlib.sha256(canonical_json(content)).hexdigest()
    (path / "bundle.json").write_bytes(canonical_json(content))
    return path
