"""What models say about images. Each result names its image, and carries the error if the image is unreadable."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seetell.errors import ImageError


@dataclass(frozen=True, slots=True)
class Caption:
    """One caption of an image.

    Args:
        text: the sentence.
        words: its tokens, of which the next three have a row each.
        word_log_probabilities: one more than words where the end's is there, too.
        attention: how much the model looked at each place of the grid (words, L), row by row from the top left; None
            for models without attention.
        gate: how much of what it saw each word let in (Xu's β), where the model has a gate.
        log_probability: of the whole sentence.
        score: what captions were ranked by: the log-probability, normalised for length as the bundle says, and with it,
            where the bundle says so, how well the caption fits the image.
        similarity: how well, as the bundle's retriever sees it; None where that was not asked.
        uncertain: it fits worse than nearly all captions of images like those the bundle learned from: the image
            shows something else.
    """

    text: str
    words: tuple[str, ...]
    word_log_probabilities: NDArray[np.float64]
    attention: NDArray[np.float32] | None
    gate: NDArray[np.float32] | None
    log_probability: float
    score: float
    similarity: float | None = None
    uncertain: bool = False

    @property
    def hedged(self) -> str:
        """The sentence for somebody who sees nothing but it: a uncertain one says so."""
        return f"perhaps {self.text}" if self.uncertain else self.text


@dataclass(frozen=True, slots=True)
class Tag:
    """A label, and how sure the model is of it, from 0 to 1."""

    label: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Match:
    """A text, and how well it fits an image; bigger is better."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Result:
    """What every result has.

    Args:
        image: its path, or what else it is called.
        error: why it could not be read; everything else is then empty.
    """

    name: str
    error: ImageError | None = None

    def check(self) -> None:
        """Raise the image's error, if it has one."""
        if self.error is not None:
            raise self.error


@dataclass(frozen=True, slots=True)
class CaptionResult(Result):
    """An image's captions, best first."""

    captions: tuple[Caption, ...] = ()

    @property
    def best(self) -> Caption:
        """The best caption; raises the image's error, if it has one."""
        self.check()
        return self.captions[0]

    @property
    def text(self) -> str:
        return self.best.text


@dataclass(frozen=True, slots=True)
class TagResult(Result):
    """An image's tags, surest first.

    Args:
        scores: of every label the tagger knows, in their order; None where it writes labels one after another.
    """

    tags: tuple[Tag, ...] = ()
    scores: NDArray[np.float32] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        self.check()
        return tuple(tag.label for tag in self.tags)


@dataclass(frozen=True, slots=True)
class Embedding(Result):
    """An image's place in the space that it shares with texts."""

    embedding: NDArray[np.float32] | None = None

    @property
    def vector(self) -> NDArray[np.float32]:
        """The embedding; raises the image's error, if it has one."""
        self.check()
        assert self.embedding is not None
        return self.embedding


@dataclass(frozen=True, slots=True)
class Description(Result):
    """All that a model says about an image; what it has no head for is empty."""

    captions: tuple[Caption, ...] = ()
    tags: tuple[Tag, ...] = ()
    embedding: NDArray[np.float32] | None = None

    @property
    def text(self) -> str:
        """The best caption, with a "perhaps" where it is uncertain; raises the image's error, if it has one."""
        self.check()
        return self.captions[0].hedged if self.captions else ""
