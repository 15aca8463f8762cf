"""Images with their captions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seetell.data import Record
from seetell.learn.training.batching import Sequences
from seetell.learn.training.inputs import ImageInputs
from seetell.text import Tokenizer, Vocabulary


@dataclass(frozen=True)
class CaptionedImages:
    """One split.

    Args:
        images: the image inputs.
        captions: the captions as word indices, from `<start>` to `<end>`.
        owners: the image of each caption, in ascending order.
        references: each image's captions as written, with which generated captions are compared.
    """

    images: ImageInputs
    captions: Sequences
    owners: np.ndarray
    references: Sequence[Sequence[str]]

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        images: ImageInputs,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary,
        cut: int = 0,
    ) -> "CaptionedImages":
        """The captions of records.

        Args:
            cut: keep only this many words of each caption; 0: all.
        """
        words = (tokenizer(caption) for record in records for caption in record.captions)
        captions = Sequences(vocabulary.encode(w[:cut] if cut else w, start=True, end=True) for w in words)
        owners = np.repeat(np.arange(len(records)), [len(record.captions) for record in records])
        return cls(images, captions, owners, [record.captions for record in records])

    def token_references(self) -> list[list[list[int]]]:
        """Each image's captions as word indices, without the start mark but with the end."""
        references: list[list[list[int]]] = [[] for _ in self.references]
        for caption, owner in enumerate(self.owners.tolist()):
            references[owner].append(self.captions[caption][1:].tolist())
        return references
