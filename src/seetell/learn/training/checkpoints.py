"""Checkpoints: JSON, safetensors and UTF-8 text, written so that a kill at any moment leaves a complete one.

A run's folder::

    run.json                recipe, datasets, encoder, versions
    vocabulary.txt          the words or labels, where the model has any
    history.jsonl           one line per epoch
    last/<n>/  best/<n>/    model.safetensors, training.safetensors, state.json
    last.json  best.json    the current <n>: replaced atomically, so a reader never sees half a checkpoint

Nothing is pickled: an optimiser's tensors go into safetensors, its numbers into JSON.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from seetell.errors import SeetellError
from seetell.files import write_file

FORMAT = 1


class CheckpointError(SeetellError):
    """A run's folder that cannot be read, or that another version wrote."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of training at one moment."""

    model: Mapping[str, Tensor]
    training: Mapping[str, Tensor]  # optimiser, running average of the weights, …
    state: Mapping[str, Any]  # phase, epoch, step, best score: anything JSON holds


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically."""
    write_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n", sync=True)


def read_json(path: Path) -> Any:
    """Read JSON; what is missing or damaged is a `CheckpointError`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError("there is no such file", where=str(path), remedy="Is this a run's folder?") from None
    except ValueError as error:
        raise CheckpointError(f"this is not JSON: {error}", where=str(path)) from None


def save(run: Path, name: str, checkpoint: Checkpoint) -> None:
    """Store a checkpoint under `name` ("last" or "best"), replacing the previous one only when it is complete."""
    pointer = run / f"{name}.json"
    previous = read_json(pointer)["number"] if pointer.exists() else None
    number = (previous or 0) + 1
    folder = run / name / str(number)
    shutil.rmtree(folder, ignore_errors=True)  # left by a kill before the pointer moved
    folder.mkdir(parents=True)
    for file, tensors in (("model", checkpoint.model), ("training", checkpoint.training)):
        # Cloned, because safetensors refuses tensors that share memory (tied weights).
        save_file({key: value.detach().cpu().clone() for key, value in tensors.items()}, folder / f"{file}.safetensors")
    write_json(folder / "state.json", {"format": FORMAT, **checkpoint.state})
    write_json(pointer, {"number": number})
    if previous is not None:
        shutil.rmtree(run / name / str(previous), ignore_errors=True)


def exists(run: Path, name: str) -> bool:
    return (run / f"{name}.json").exists()


def state(run: Path, name: str) -> dict[str, Any]:
    """The training state of a checkpoint, without its tensors."""
    folder = _folder(run, name)
    content: dict[str, Any] = read_json(folder / "state.json")
    if content.pop("format") != FORMAT:
        raise CheckpointError("this checkpoint was written by another version", where=str(folder))
    return content


def _folder(run: Path, name: str) -> Path:
    if not exists(run, name):
        raise CheckpointError(f"this folder has no {name!r} checkpoint", where=str(run), remedy="Train a run first")
    return run / name / str(read_json(run / f"{name}.json")["number"])


def load(run: Path, name: str) -> Checkpoint:
    """Read a checkpoint; a damaged one is an error that names the file."""
    folder, progress = _folder(run, name), state(run, name)
    tensors = []
    for file in ("model", "training"):
        path = folder / f"{file}.safetensors"
        try:
            tensors.append(load_file(path))
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"this checkpoint is damaged ({error})", where=str(path)) from None
    return Checkpoint(tensors[0], tensors[1], progress)


def model_weights(run: Path, name: str) -> dict[str, Tensor]:
    """The weights of a checkpoint's model, by the model's own names."""
    weights = load(run, name).model
    return {key.removeprefix("model."): value for key, value in weights.items() if key.startswith("model.")}


def flatten_optimiser(optimiser: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimiser's state as tensors (for safetensors) and numbers (for JSON)."""
    content = optimiser.state_dict()
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, Any] = {}
    for index, state in content["state"].items():
        for key, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser.{index}.{key}"] = value
            else:
                numbers[f"{index}.{key}"] = value
    return tensors, {"numbers": numbers, "groups": content["param_groups"]}


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]) -> None:
    """Restore what `flatten_optimiser` took out."""
    state: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("optimiser."):
            _, index, key = name.split(".", 2)
            state.setdefault(int(index), {})[key] = value
    for name, value in rest["numbers"].items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    optimiser.load_state_dict({"state": state, "param_groups": rest["groups"]})
