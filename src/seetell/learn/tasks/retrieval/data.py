"""Images paired with their captions, and how a model embeds them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from seetell.data import Record
from seetell.learn.models.sentence_match import SentenceMatch
from seetell.learn.tasks.retrieval.text_states import FrozenTextStates, Texts, embed_by_length
from seetell.learn.training.batching import Sequences
from seetell.learn.training.inputs import ImageInputs, in_batches
from seetell.text import Tokenizer, Vocabulary

EMPTY = ""  # stands for an empty caption: it is in no vocabulary, so it is read as an unknown word


class RetrievalModel(Protocol):
    """What every retrieval model offers."""

    similarity: str
    dimensions: int

    def images(self, features: Tensor) -> Tensor: ...
    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class PairedImages:
    """One split.

    Args:
        images: the image inputs.
        captions: the captions as word indices.
        owners: the image of each caption.
        text_states: of each caption, the output of a sentence encoder's frozen layers.
    """

    images: ImageInputs
    captions: Sequences
    owners: np.ndarray
    text_states: FrozenTextStates | None = None

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        images: ImageInputs,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary,
        cut: int = 0,
    ) -> "PairedImages":
        """The captions of records.

        Args:
            cut: keep only this many words of each caption; 0: all.
        """
        tokens = [tokenizer(caption) for record in records for caption in record.captions]
        captions = Sequences(vocabulary.encode((each[:cut] if cut else each) or [EMPTY]) for each in tokens)
        owners = np.repeat(np.arange(len(records)), [len(record.captions) for record in records])
        return cls(images, captions, owners)

    @property
    def texts(self) -> Texts:
        """What the model reads of the captions: word indices, or the frozen layers' output."""
        return self.captions if self.text_states is None else self.text_states

    def text_side(self, model: RetrievalModel) -> Callable[[Tensor, Tensor], Tensor]:
        """The part of the model's text side that reads `texts`."""
        return model.texts if self.text_states is None else cast(SentenceMatch, model).texts_read


def device_of(model: RetrievalModel) -> torch.device:
    return next(cast(nn.Module, model).parameters()).device


@torch.inference_mode()
def embed_images(model: RetrievalModel, images: ImageInputs, batch: int = 128) -> np.ndarray:
    """The embeddings of all images, in order."""
    device = device_of(model)
    parts = [model.images(images.batch(some).to(device)).float().cpu() for some in in_batches(len(images), batch)]
    return torch.cat(parts).numpy()


def embed_texts(model: RetrievalModel, captions: Sequences, batch: int = 256) -> np.ndarray:
    """The embeddings of all captions, in order."""
    return embed_by_length(captions, model.texts, device_of(model), batch)
