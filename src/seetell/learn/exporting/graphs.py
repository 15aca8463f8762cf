"""PyTorch modules as ONNX graphs that stand alone and take any number of rows."""

import contextlib
import copy
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.export import Dim

from seetell.learn.encoders.engines import OPSET, quietly

IR = 8  # what ONNX Runtime 1.17 reads; the exporter writes newer numbers without needing them


class TextSide(nn.Module):
    """The text side of a retrieval model. Its recurrent networks run as ONNX's own GRU, which takes sentences of
    differing length as packed sequences do: it stops at each sentence's end, and reads backwards from there.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)
        for module in self.model.modules():
            if isinstance(module, nn.GRU):
                _lay_out(module)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        embeddings: Tensor = self.model.texts(tokens, lengths)  # type: ignore[operator]
        return embeddings


class ImageSide(nn.Module):
    """The image side of a retrieval model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Tensor) -> Tensor:
        embeddings: Tensor = self.model.images(features)  # type: ignore[operator]
        return embeddings


class Start(nn.Module):
    """A decoder's `start`, its state in a fixed order."""

    def __init__(self, model: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, tuple(names)

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        state = self.model.start(features)  # type: ignore[operator]
        # Copied, because one tensor cannot be two outputs: h and c may both be the same zeros.
        return tuple(state[name].clone() for name in self.names)


class Step(nn.Module):
    """A decoder's `step`: log-probabilities, the attention if there is one, and the states that change."""

    def __init__(self, model: nn.Module, names: Sequence[str], changing: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names, self.changing = model, tuple(names), tuple(changing)

    def forward(self, tokens: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        log_probs, after, attention = self.model.step(tokens, dict(zip(self.names, state, strict=True)))  # type: ignore[operator]
        told = (log_probs,) if attention is None else (log_probs, attention)
        return (*told, *(after[name] for name in self.changing))


class Scores(nn.Module):
    """A classifier: logits and probabilities."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.model(features)
        return logits, self.model.confidence(logits)  # type: ignore[operator]


def to_onnx(module: nn.Module, inputs: Mapping[str, Tensor], outputs: Sequence[str]) -> bytes:
    """A module as an ONNX graph.

    Args:
        module: takes the inputs by position.
        inputs: an example of each, with two rows or more; the number of rows stays free, and of `tokens` with two
            dimensions the number of words, too.
        outputs: what the graph's outputs are called.
    """
    rows, words = Dim("rows"), Dim("words")
    shapes = [
        {0: rows, 1: words} if name == "tokens" and value.ndim == 2 else {0: rows} for name, value in inputs.items()
    ]
    dynamic: Any = (shapes[0], tuple(shapes[1:])) if isinstance(module, Step) else tuple(shapes)
    with quietly(), _onnx_gru(), torch.no_grad():
        program = torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_shapes=dynamic,
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    model.ir_version = IR
    # Where in the source each node came from is half of a small file.
    graph = model.graph
    for each in (model, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        each.ClearField("metadata_props")
        each.ClearField("doc_string")
    data: bytes = model.SerializeToString()
    return data


def _lay_out(network: nn.GRU) -> None:
    """Keep a GRU's weights as ONNX wants them: directions stacked, gates in the order z, r, h (PyTorch: r, z, h)."""
    if network.num_layers != 1 or not network.bias or not network.batch_first:
        raise NotImplementedError("only a GRU of one layer, with biases and batches first, can be exported")

    def gates(name: str) -> Tensor:
        r, z, h = getattr(network, name).detach().chunk(3)
        return torch.cat([z, r, h])

    ends = ("_l0", "_l0_reverse")[: 2 if network.bidirectional else 1]
    network.register_buffer("onnx_w", torch.stack([gates(f"weight_ih{end}") for end in ends]))
    network.register_buffer("onnx_r", torch.stack([gates(f"weight_hh{end}") for end in ends]))
    biases = [torch.cat([gates(f"bias_ih{end}"), gates(f"bias_hh{end}")]) for end in ends]
    network.register_buffer("onnx_b", torch.stack(biases))


def _run_gru(network: nn.GRU, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """What `run_packed` does, as one node of the graph. Outside of an export it computes nothing."""
    count, longest = words.shape[0], words.shape[1]
    directions, units = 2 if network.bidirectional else 1, network.hidden_size
    weights: list[Any] = [network.onnx_w, network.onnx_r, network.onnx_b]
    steps, final = torch.onnx.ops.symbolic_multi_out(
        "GRU",
        (words.transpose(0, 1), *weights, lengths.to(torch.int32)),
        attrs={
            "hidden_size": units,
            "direction": "bidirectional" if directions == 2 else "forward",
            "linear_before_reset": 1,  # PyTorch's form of the GRU
        },
        dtypes=(words.dtype, words.dtype),
        shapes=((longest, directions, count, units), (directions, count, units)),
        version=OPSET,
    )
    return steps.permute(2, 0, 1, 3).flatten(2), final.transpose(0, 1).flatten(1)


@contextlib.contextmanager
def _onnx_gru() -> Iterator[None]:
    """While a graph is made, models run their GRUs as ONNX's: packed sequences have no counterpart there."""
    with contextlib.ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("seetell.learn.models.") and hasattr(module, "run_packed"):
                stack.enter_context(mock.patch.object(module, "run_packed", _run_gru))
        yield
