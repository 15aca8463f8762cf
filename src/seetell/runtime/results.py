"""The results of models. Each names its image, and carries the error if the image is unreadable."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seetell.errors import ImageError


@dataclass(frozen=True, slots=True, repr=False)
class Caption:
    """One caption of an image.

    Args:
        text: the sentence.
        words: its tokens; the next three arguments have one row for each.
        word_log_probabilities: of each word, and of the end of the sentence if the model generated it.
        attention: the weight of each cell of the feature grid (words, L), row by row from the top left; None for models
            without attention.
        gate: how much of the image each word used (Xu's β); None for models without a gate.
        log_probability: of the whole sentence.
        score: what captions are ranked by: the log-probability, normalised for length, plus the weighted similarity if
            captions are re-ranked.
        similarity: how well the caption matches the image, according to the retriever; None without re-ranking.
        uncertain: the similarity is lower than that of nearly all captions of images like the training data: the model
            is probably wrong.

    Example:
        >>> import seetell
        >>> best = seetell.open_model().captioner("red.png").best
        >>> best.words, best.attention.shape
        (('a', 'red', 'thing'), (3, 4))
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

    def __repr__(self) -> str:
        return f"Caption({_short(self.text)}, score={self.score:.2f}{', uncertain' if self.uncertain else ''})"

    @property
    def hedged(self) -> str:
        """The sentence, prefixed with "perhaps" if it is uncertain."""
        return f"perhaps {self.text}" if self.uncertain else self.text


@dataclass(frozen=True, slots=True)
class Tag:
    """A label and its confidence, from 0 to 1.

    Example:
        >>> Tag("dog", 0.75).label
        'dog'
    """

    label: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Match:
    """A text and how well it matches an image; higher is better.

    Example:
        >>> import seetell
        >>> max(seetell.open_model().retriever.match("red.png", ["blue", "red"]), key=lambda match: match.score).text
        'red'
    """

    text: str
    score: float


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """What every result has.

    Args:
        name: the image's path, or its number if it has none; the text itself for the embedding of a text.
        error: why the image could not be read; everything else is then empty.

    Example:
        >>> import seetell
        >>> result = seetell.open_model().tagger("absent.png")
        >>> print(result.error)
        absent.png: there is no such file
    """

    name: str
    error: ImageError | None = None

    def __repr__(self) -> str:
        content = self._summary() if self.error is None else f"error={_short(self.error.problem)}"
        return f"{type(self).__name__}({_short(self.name)}{', ' if content else ''}{content})"

    def check(self) -> None:
        """Raise the image's error, if it has one."""
        if self.error is not None:
            raise self.error

    def _summary(self) -> str:
        return ""


@dataclass(frozen=True, slots=True, repr=False)
class CaptionResult(Result):
    """An image's captions, best first.

    Example:
        >>> import seetell
        >>> result = seetell.open_model().captioner("red.png", n_best=2)
        >>> result
        CaptionResult('red.png', 'a red thing')
        >>> len(result.captions), result.best.words
        (2, ('a', 'red', 'thing'))
    """

    captions: tuple[Caption, ...] = ()

    @property
    def best(self) -> Caption:
        """The best caption; raises the image's error, if it has one."""
        self.check()
        return self.captions[0]

    @property
    def text(self) -> str:
        """The text of the best caption; raises the image's error, if it has one."""
        return self.best.text

    def _summary(self) -> str:
        return _short(self.text) if self.captions else "no captions"


@dataclass(frozen=True, slots=True, repr=False)
class TagResult(Result):
    """An image's tags, most confident first.

    Args:
        tags: labels with their confidences.
        scores: the confidence of every label in `Tagger.labels`; None for taggers that generate label sequences.

    Example:
        >>> import seetell
        >>> seetell.open_model().tagger("red.png")
        TagResult('red.png', 'red')
    """

    tags: tuple[Tag, ...] = ()
    scores: NDArray[np.float32] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels alone; raises the image's error, if it has one."""
        self.check()
        return tuple(tag.label for tag in self.tags)

    def _summary(self) -> str:
        return _short(", ".join(self.labels))


@dataclass(frozen=True, slots=True, repr=False)
class Embedding(Result):
    """The vector of an image or a text.

    Args:
        embedding: the vector, or None for an image that could not be read; `vector` raises the error instead.

    Example:
        >>> import seetell
        >>> seetell.open_model().retriever.images("absent.png")
        Embedding('absent.png', error='there is no such file')
    """

    embedding: NDArray[np.float32] | None = None

    @property
    def vector(self) -> NDArray[np.float32]:
        """The embedding; raises the image's error, if it has one."""
        self.check()
        assert self.embedding is not None
        return self.embedding

    def _summary(self) -> str:
        return "no vector" if self.embedding is None else f"{len(self.embedding)} dimensions"


@dataclass(frozen=True, slots=True, repr=False)
class Description(Result):
    """What all heads of a model produce for an image; empty for heads that the model lacks.

    Args:
        captions: best first.
        tags: most confident first.
        embedding: the retriever's vector.

    Example:
        >>> import seetell
        >>> seetell.open_model().describe("red.png")
        Description('red.png', 'a red thing', 'red')
    """

    captions: tuple[Caption, ...] = ()
    tags: tuple[Tag, ...] = ()
    embedding: NDArray[np.float32] | None = None

    @property
    def text(self) -> str:
        """The best caption, prefixed with "perhaps" if it is uncertain; raises the image's error, if it has one."""
        self.check()
        return self.captions[0].hedged if self.captions else ""

    def _summary(self) -> str:
        return ", ".join(_short(text) for text in (self.text, ", ".join(tag.label for tag in self.tags)) if text)


def _short(text: str) -> str:
    """Text in a repr: quoted, on one short line."""
    return repr(text if len(text) <= 60 else text[:57] + "…")
