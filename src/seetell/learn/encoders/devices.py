"""The devices that PyTorch can use on this machine."""

import torch

from seetell.errors import SeetellError

DEVICES = ("auto", "cpu", "cuda", "mps")


def available_devices() -> list[str]:
    """`cpu`, and `cuda` or `mps` where PyTorch finds such a GPU."""
    gpus = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return ["cpu", *(name for name, found in gpus.items() if found)]


def find_device(name: str = "auto") -> torch.device:
    """A device by name.

    Args:
        name: `cpu`, `cuda`, `mps`, or `auto` for a GPU if there is one.

    Raises:
        SeetellError: there is no such device here.
    """
    available = available_devices()
    if name == "auto":
        return torch.device(available[-1] if "cuda" not in available else "cuda")
    if name.partition(":")[0] not in available:
        problem = f"PyTorch finds no {name} device here" if name in DEVICES else f"there is no device {name!r}"
        raise SeetellError(problem, where="--device", remedy=f"Available: auto, {', '.join(available)}")
    return torch.device(name)
