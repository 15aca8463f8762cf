"""The labels of a run: vocabulary, true labels of each image, label order, and starting vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seetell.data import Dataset, Record
from seetell.learn.recipes import TextSettings
from seetell.learn.recipes.loss_settings import LabelOrder
from seetell.learn.training.inputs import ImageInputs
from seetell.text import LABEL_SPECIALS, Vocabulary, WordVectors, default_vectors


def label_vocabulary(dataset: Dataset) -> Vocabulary:
    """START, END and PAD, then the training split's labels from the most to the least frequent."""
    return Vocabulary(dataset.label_order("train"), LABEL_SPECIALS)


@dataclass(frozen=True)
class LabelledImages:
    """One split: image inputs and their true labels.

    Args:
        truth: (images, labels): first the vocabulary's labels, then labels of the split that no training image has.
        labels: the columns' names.
    """

    images: ImageInputs
    truth: NDArray[np.bool_]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, records: Sequence[Record], images: ImageInputs, vocabulary: Vocabulary) -> "LabelledImages":
        labels = dict.fromkeys((*vocabulary.words, *sorted({label for record in records for label in record.labels})))
        column = {label: index for index, label in enumerate(labels)}
        truth = np.zeros((len(records), len(labels)), dtype=bool)
        for row, record in enumerate(records):
            truth[row, [column[label] for label in record.labels]] = True
        return cls(images, truth, tuple(labels))

    def __len__(self) -> int:
        return len(self.truth)


class Orders:
    """Label sequences in an order: `frequency` from the most to the least frequent in the training split (Ren, section
    4.2), `rare_first` the reverse, `alphabetical`, or `random`, different each time an image is read.

    Args:
        truth: of the training split (images, labels of the vocabulary).
    """

    def __init__(self, truth: NDArray[np.bool_], vocabulary: Vocabulary, order: LabelOrder) -> None:
        self.truth, self.vocabulary, self.random = truth, vocabulary, order == "random"
        labels = np.arange(len(vocabulary.words))
        match order:
            case "rare_first":
                self.columns = labels[::-1]
            case "alphabetical":
                self.columns = np.array(sorted(labels, key=lambda label: vocabulary.words[label]))
            case _:
                self.columns = labels

    def pad(self, images: NDArray[np.int64], random: np.random.Generator) -> tuple[Tensor, Tensor]:
        """The sequences of some images from START to END, padded with PAD (B, T), and a mask of the symbols after START
        (B, T − 1)."""
        first, start, end = len(self.vocabulary.specials), self.vocabulary.start, self.vocabulary.end
        sequences = []
        for row in self.truth[images][:, self.columns]:
            labels = self.columns[np.flatnonzero(row)]
            sequences.append([start, *(first + (random.permutation(labels) if self.random else labels)), end])
        longest = max(map(len, sequences))
        tokens = np.full((len(sequences), longest), self.vocabulary.pad, dtype=np.int64)
        for row, sequence in enumerate(sequences):
            tokens[row, : len(sequence)] = sequence
        lengths = np.array([len(sequence) for sequence in sequences])
        return torch.from_numpy(tokens), torch.from_numpy(np.arange(1, longest) < lengths[:, None])


def label_vectors(vocabulary: Vocabulary, text: TextSettings) -> Tensor | None:
    """The recipe's word vectors of the labels, averaged over the words of a label; NaN where there is none."""
    if not text.vectors:
        return None
    words = vocabulary.words
    vectors = default_vectors(words) if text.vectors == "default" else WordVectors.read(text.vectors, words)
    rows = torch.full((len(vocabulary), vectors.dimension), torch.nan)
    for label in words:
        if (found := vectors.find(label)) is not None:
            rows[vocabulary.index(label)] = torch.from_numpy(found)
    return rows


def label_sizes(vocabulary: Vocabulary, vectors: Tensor | None) -> dict[str, int]:
    """The sizes of a tagging model: `words` with the special symbols, `labels` without."""
    sizes = {"words": len(vocabulary), "labels": len(vocabulary.words)}
    return sizes if vectors is None else {**sizes, "vector_dimensions": vectors.shape[1]}
