"""Where in a network the `full_network` layout reads: every convolution and fully connected layer, once each.

The full-network embedding of Vilalta et al. takes "the neural activations of all convolutional and fully-connected
layers". In VGG that leaves no choice: each layer is followed by its ReLU. For any other network the rule is:

- a layer is read after the normalisation and the activation that directly follow it: the modules that take its output,
  unchanged, as their input; at most one of each, in either order;
- anything else in between ends the search. The last convolution of a residual block is therefore read normalised,
  before the addition (its activation belongs to the sum), and so is a linear bottleneck, which has no activation;
- layers come in the order in which the network runs them; one that runs twice counts twice;
- encoders have no classifier.

What follows what is observed, not guessed from names: the network runs once, and a module follows another when it gets
the same tensor that the other returned, at the same version (so that an in-place addition is noticed).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

LAYERS = (nn.Conv2d, nn.Linear)


@dataclass(frozen=True, slots=True)
class Tap:
    """Where one layer of the `full_network` row is read.

    Args:
        layer: the convolution or fully connected layer, as the network calls it.
        module: the module whose output is read: the layer itself, its normalisation or its activation.
        call: which run of that module within a pass, for networks that use a module several times.
        width: how many features it gives, its output channels.
        axis: the dimension of its output that the channels are in.
        batch_norm: the batch normalisation that directly follows it, if both run once in a pass; "" if none does.
    """

    layer: str
    module: str
    call: int
    width: int
    axis: int
    batch_norm: str = ""


@dataclass(slots=True)
class _Call:
    """One observed run of a module."""

    name: str
    module: nn.Module
    call: int
    start: int  # when it began, and when it was over, in events of the pass
    end: int
    given: Tensor  # references are kept, so that no two tensors can share an identity
    given_version: int
    returned: Tensor
    returned_version: int


def find_taps(network: nn.Module, pixels: Tensor) -> tuple[Tap, ...]:
    """Where a network's layers are read, found by observing one pass; timm's networks stop before the classifier."""
    calls = _observe(network, pixels)
    runs = Counter(call.name for call in calls)
    takers = _takers(calls)
    taps = []
    for call in calls:
        if isinstance(call.module, LAYERS):
            read, batch_norm = _follow(call, takers)
            axis = 1 if isinstance(call.module, nn.Conv2d) else -1
            once = batch_norm != "" and runs[call.name] == runs[batch_norm] == 1
            width = call.returned.shape[axis]
            taps.append(Tap(call.name, read.name, read.call, width, axis, batch_norm if once else ""))
    return tuple(taps)


@contextmanager
def watching(
    network: nn.Module, calls: Iterable[tuple[str, int]], take: Callable[[int, Tensor], None]
) -> Iterator[None]:
    """For one pass: call `take(i, output)` as soon as the i-th call, a module and which run of it, returns.

    Immediately, because the network may overwrite its own output later in the pass.
    """
    wanted: dict[str, dict[int, list[int]]] = {}
    for position, (name, call) in enumerate(calls):
        wanted.setdefault(name, {}).setdefault(call, []).append(position)
    handles = []
    try:
        for name, positions in wanted.items():
            handles.append(network.get_submodule(name).register_forward_hook(_hook(positions, take)))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _hook(positions: dict[int, list[int]], take: Callable[[int, Tensor], None]) -> Callable[..., None]:
    calls = count()

    def hook(module: nn.Module, given: Any, returned: Tensor) -> None:
        for position in positions.get(next(calls), ()):
            take(position, returned)

    return hook


def _observe(network: Any, pixels: Tensor) -> list[_Call]:
    """Every run of a layer, a normalisation, an activation or something neutral, in the order in which they began."""
    calls: list[_Call] = []
    under_way: list[tuple[int, Tensor, int]] = []
    events = count()
    runs: Counter[str] = Counter()
    handles = []

    def before(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        under_way.append((next(events), given[0], given[0]._version))

    def after(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, given: Any, returned: Tensor) -> None:
            start, tensor, version = under_way.pop()
            call = _Call(name, module, runs[name], start, next(events), tensor, version, returned, returned._version)
            runs[name] += 1
            calls.append(call)

        return hook

    try:
        for name, module in network.named_modules():
            if isinstance(module, LAYERS) or _parts(module) is not None:
                handles.append(module.register_forward_pre_hook(before))
                handles.append(module.register_forward_hook(after(name)))
        with torch.no_grad():  # not inference_mode, whose tensors have no versions
            if hasattr(network, "forward_head"):
                network.forward_head(network.forward_features(pixels), pre_logits=True)
            else:
                network(pixels)
    finally:
        for handle in handles:
            handle.remove()
    return sorted(calls, key=lambda call: call.start)


def _takers(calls: list[_Call]) -> dict[int, list[_Call]]:
    """Runs of modules other than layers, in order, by the identity of the tensor that each was given."""
    takers: dict[int, list[_Call]] = {}
    for call in calls:
        if _parts(call.module) is not None:
            takers.setdefault(id(call.given), []).append(call)
    return takers


def _next(before: _Call, takers: dict[int, list[_Call]]) -> _Call | None:
    """What is first given a module's output, unchanged, after that module is done."""
    for call in takers.get(id(before.returned), ()):
        if call.start > before.end and call.given_version == before.returned_version:
            return call
    return None


def _follow(layer: _Call, takers: dict[int, list[_Call]]) -> tuple[_Call, str]:
    """The module that ends a layer's normalisation and activation, and the batch normalisation that comes first."""
    read = current = layer
    batch_norm = ""
    had: frozenset[str] = frozenset()
    while True:
        found = _next(current, takers)
        parts = None if found is None else _parts(found.module)
        if found is None or parts is None or parts & had or found.returned.shape != layer.returned.shape:
            break
        if current is layer and isinstance(layer.module, nn.Conv2d) and isinstance(found.module, nn.BatchNorm2d):
            batch_norm = found.name
        current = found
        if parts:
            read, had = found, had | parts
    return read, batch_norm


def _parts(module: nn.Module) -> frozenset[str] | None:
    """What a module does to a layer's output: normalise, activate, both, neither (empty), or something else (None)."""
    kind = type(module)
    parts = set()
    if "norm" in kind.__name__.lower():
        parts.add("normalise")
        if isinstance(getattr(module, "act", None), nn.Module) and not isinstance(module.act, nn.Identity):
            parts.add("activate")  # timm's BatchNormAct2d and its relatives
    elif "activation" in kind.__module__ and not isinstance(module, nn.MultiheadAttention):
        parts.add("activate")
    elif not isinstance(module, nn.Identity | nn.modules.dropout._DropoutNd):
        return None
    return frozenset(parts)
