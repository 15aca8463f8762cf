"""The parts of models that become graphs of a bundle, in the form that can be exported."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from seetell.learn.onnx_graphs import OPSET


class TextSide(nn.Module):
    """The text side of a retrieval model, with its GRUs replaced by `OnnxGRU`."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = copy.deepcopy(model)
        for name, module in list(self.model.named_modules()):
            if isinstance(module, nn.GRU):
                self.model.set_submodule(name, OnnxGRU(module))

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
    """A decoder's `start`, with its state in a fixed order."""

    def __init__(self, model: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, tuple(names)

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        state = self.model.start(features)  # type: ignore[operator]
        # Cloned, because one tensor cannot be two outputs: h and c may both be the same zeros.
        return tuple(state[name].clone() for name in self.names)


class Step(nn.Module):
    """A decoder's `step`: log-probabilities, the attention if there is one, and the states that change."""

    takes_states = True  # one argument, then any number of states

    def __init__(self, model: nn.Module, names: Sequence[str], changing: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names, self.changing = model, tuple(names), tuple(changing)

    def forward(self, tokens: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        log_probs, after, attention = self.model.step(tokens, dict(zip(self.names, state, strict=True)))  # type: ignore[operator]
        outputs = (log_probs,) if attention is None else (log_probs, attention)
        return (*outputs, *(after[name] for name in self.changing))


class Scores(nn.Module):
    """A classifier: logits and probabilities."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.model(features)
        return logits, self.model.confidence(logits)  # type: ignore[operator]


class OnnxGRU(nn.Module):
    """A GRU as one node of the graph: ONNX's own, which handles sentences of different lengths as packed sequences do:
    it stops at each sentence's end, and reads backwards from there. It can be exported, but not run in PyTorch.

    Args:
        network: with one layer, biases and batches first. Its weights are stored as ONNX expects them: directions
            stacked, gates in the order z, r, h (PyTorch: r, z, h).
    """

    onnx_w: Tensor
    onnx_r: Tensor
    onnx_b: Tensor

    def __init__(self, network: nn.GRU) -> None:
        super().__init__()
        if network.num_layers != 1 or not network.bias or not network.batch_first:
            raise NotImplementedError("only a GRU of one layer, with biases and batches first, can be exported")
        self.units, self.directions = network.hidden_size, 2 if network.bidirectional else 1

        def gates(name: str) -> Tensor:
            r, z, h = getattr(network, name).detach().chunk(3)
            return torch.cat([z, r, h])

        ends = ("_l0", "_l0_reverse")[: self.directions]
        self.register_buffer("onnx_w", torch.stack([gates(f"weight_ih{end}") for end in ends]))
        self.register_buffer("onnx_r", torch.stack([gates(f"weight_hh{end}") for end in ends]))
        biases = [torch.cat([gates(f"bias_ih{end}"), gates(f"bias_hh{end}")]) for end in ends]
        self.register_buffer("onnx_b", torch.stack(biases))

    def forward(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """What `run_packed` returns: every step's output, and the final state."""
        count, longest = words.shape[0], words.shape[1]
        steps, final = torch.onnx.ops.symbolic_multi_out(
            "GRU",
            (words.transpose(0, 1), self.onnx_w, self.onnx_r, self.onnx_b, lengths.to(torch.int32)),
            attrs={
                "hidden_size": self.units,
                "direction": "bidirectional" if self.directions == 2 else "forward",
                "linear_before_reset": 1,  # PyTorch's form of the GRU
            },
            dtypes=(words.dtype, words.dtype),
            shapes=((longest, self.directions, count, self.units), (self.directions, count, self.units)),
            version=OPSET,
        )
        return steps.permute(2, 0, 1, 3).flatten(2), final.transpose(0, 1).flatten(1)
