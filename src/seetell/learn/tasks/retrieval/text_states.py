"""Captions through a model's text side in batches, and once for all through its frozen layers."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from seetell.files import replacing
from seetell.learn.models.sentence_match import SentenceMatch
from seetell.learn.models.sentences import MOST_PIECES
from seetell.learn.training.batching import Sequences
from seetell.learn.training.inputs import in_batches
from seetell.progress import SILENT, Progress


class Texts(Protocol):
    """Captions in any form that a model reads."""

    @property
    def lengths(self) -> np.ndarray: ...

    def pad(self, indices: np.ndarray) -> tuple[Tensor, Tensor]:
        """The chosen captions, padded to the longest of them, and their lengths."""
        ...


@dataclass(frozen=True)
class FrozenTextStates:
    """The output of a sentence encoder's frozen layers for captions: one row per caption or, where layers after them
    are trained, one row for each of a caption's word pieces, its start and its end.

    Args:
        values: the rows of all captions, end to end; for pieces 16-bit floats, to save space.
        lengths: of the captions, in pieces.
        bounds: the first row of each caption, and the end of the last; None where each has one row.
    """

    values: np.ndarray
    lengths: np.ndarray
    bounds: np.ndarray | None = None

    def pad(self, indices: np.ndarray) -> tuple[Tensor, Tensor]:
        """(B, width) or (B, most pieces, width), and lengths (B,)."""
        lengths = torch.from_numpy(self.lengths[indices])
        if self.bounds is None:
            return torch.from_numpy(self.values[indices]), lengths
        first, end = self.bounds[indices], self.bounds[indices + 1]
        states = np.zeros((len(indices), max(end - first), self.values.shape[1]), dtype=np.float32)
        for row in range(len(indices)):
            states[row, : end[row] - first[row]] = self.values[first[row] : end[row]]
        return torch.from_numpy(states), lengths


@torch.inference_mode()
def embed_by_length(
    texts: Texts, embed: Callable[[Tensor, Tensor], Tensor], device: torch.device, batch: int = 256
) -> np.ndarray:
    """The embeddings of captions, in order; computed in batches of similar length, to avoid padding."""
    parts = []
    for some in (listed := list(_by_length(texts.lengths, batch))):
        values, lengths = texts.pad(some)
        parts.append(embed(values.to(device), lengths.to(device)).float().cpu().numpy())
    embedded = np.concatenate(parts)
    embedded[np.concatenate(listed)] = embedded.copy()
    return embedded


def _by_length(lengths: np.ndarray, batch: int) -> Iterator[np.ndarray]:
    order = np.argsort(lengths, kind="stable")
    return (order[some] for some in in_batches(len(lengths), batch))


def frozen_states(
    model: SentenceMatch, captions: Sequences, folder: Path, progress: Progress = SILENT
) -> FrozenTextStates:
    """The output of the sentence encoder's frozen layers, cached in a folder, because it takes minutes.

    The file's name is a hash of everything that its content depends on.
    """
    digest = hashlib.sha256(model.sentences.fingerprint.encode("ascii"))
    digest.update(captions.lengths.tobytes())
    digest.update(captions.values.tobytes())
    bounds = None
    name, shape = f"sentences-{digest.hexdigest()[:16]}", (len(captions), model.sentences.dimensions)
    if model.encoder:
        bounds = np.concatenate([[0], np.cumsum(np.minimum(captions.lengths, MOST_PIECES) + 2)])
        name, shape = f"{name}-{model.frozen_layers}", (int(bounds[-1]), model.sentences.width)
    path = folder / f"{name}.npy"
    if not path.is_file() or np.load(path, mmap_mode="r", allow_pickle=False).shape != shape:
        folder.mkdir(parents=True, exist_ok=True)
        kind = np.float32 if bounds is None else np.float16
        with replacing(path) as part:
            _compute(model, captions, np.lib.format.open_memmap(part, "w+", kind, shape), bounds, progress)
    return FrozenTextStates(np.load(path, mmap_mode="r", allow_pickle=False), captions.lengths, bounds)


@torch.inference_mode()
def _compute(
    model: SentenceMatch, captions: Sequences, values: np.memmap, bounds: np.ndarray | None, progress: Progress
) -> None:
    device = next(model.parameters()).device
    with progress.task("Encoding captions", total=len(captions), unit="captions") as task:
        for some in _by_length(captions.lengths, 64):
            tokens, lengths = captions.pad(some)
            read = model.read(tokens.to(device), lengths.to(device)).float().cpu().numpy()
            if bounds is None:
                values[some] = read
            else:
                for caption, states in zip(some, read, strict=True):
                    first, end = bounds[caption], bounds[caption + 1]
                    values[first:end] = states[: end - first]
            task.advance(len(some))
    values.flush()
