"""Captions through the text side of a model, many at a time; and once for all where that side is frozen."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seetell.learn.batching import Sequences
from seetell.learn.models.sentence_match import SentenceMatch
from seetell.learn.training.inputs import in_batches
from seetell.progress import SILENT, Progress


def in_order_of_length(
    captions: Sequences, embed: Callable[[Tensor, Tensor], Tensor], width: int, device: torch.device, batch: int = 256
) -> np.ndarray:
    """What `embed` makes of captions, in their order; worked through by length, so that little is spent on padding."""
    order = np.argsort(captions.lengths, kind="stable")
    embeddings = np.empty((len(captions), width), dtype=np.float32)
    for some in in_batches(len(captions), batch):
        tokens, lengths = captions.pad(order[some])
        embeddings[order[some]] = embed(tokens.to(device), lengths.to(device)).float().cpu().numpy()
    return embeddings


def read_once(model: SentenceMatch, captions: Sequences, folder: Path, progress: Progress = SILENT) -> Tensor:
    """What the frozen sentence encoder makes of captions; kept in a folder, because it takes minutes.

    The file's name says all that its content depends on.
    """
    digest = hashlib.sha256(model.sentences.fingerprint.encode("ascii"))
    digest.update(captions.lengths.tobytes())
    digest.update(captions.values.tobytes())
    path = folder / f"sentences-{digest.hexdigest()[:16]}.npy"
    shape = (len(captions), model.sentences.dimensions)
    if path.is_file():
        kept: np.ndarray = np.load(path, allow_pickle=False)
        if kept.shape == shape:
            return torch.from_numpy(kept)
    device = next(model.parameters()).device
    with torch.inference_mode(), progress.task("Reading captions", total=len(captions), unit="captions") as task:

        def read(tokens: Tensor, lengths: Tensor) -> Tensor:
            readings = model.read(tokens, lengths)
            task.advance(len(tokens))
            return readings

        readings = in_order_of_length(captions, read, shape[1], device, batch=64)
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.stem}.{os.getpid()}.tmp.npy")
    np.save(unfinished, readings)
    os.replace(unfinished, path)
    return torch.from_numpy(readings)
