"""All caption metrics at once, from untokenised captions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from seetell.errors import SeetellError
from seetell.metrics.captions.bleu import bleu
from seetell.metrics.captions.cider import cider
from seetell.metrics.captions.corpus import ORDERS, Corpus
from seetell.metrics.captions.meteor import Meteor
from seetell.metrics.captions.rouge import rouge_l
from seetell.text.tokenizers import Tokenizer, ptb

MeteorChoice = Literal["auto"] | bool | Meteor


@dataclass(frozen=True, slots=True)
class CaptionScores:
    """The scores of a set of captions.

    Args:
        metrics: of the whole corpus, as percentages.
        per_image: of each image, in the order of the captions.
        notes: which metrics were left out, and why.

    Example:
        >>> scored = score_captions(["a dog"], [["a dog", "the dog"]], meteor=False)
        >>> sorted(scored.metrics)[:4], scored.notes
        (['bleu1', 'bleu1_no_bp', 'bleu2', 'bleu2_no_bp'], [])
    """

    metrics: dict[str, float]
    per_image: dict[str, npt.NDArray[np.float64]]
    notes: list[str] = field(default_factory=list)


def caption_scores(
    candidates: Mapping[Any, str] | Sequence[str],
    references: Mapping[Any, Sequence[str]] | Sequence[Sequence[str]],
    *,
    tokenizer: Tokenizer = ptb,
    meteor: MeteorChoice = "auto",
) -> dict[str, float]:
    """The metrics of a set of captions, as percentages: `score_captions` without the scores of each image.

    Args:
        candidates, references, tokenizer, meteor: see `score_captions`.

    Example:
        >>> scores = caption_scores(["a dog runs on grass"], [["a dog runs on the grass"]], meteor=False)
        >>> round(scores["bleu1"], 1), round(scores["rouge_l"], 1)
        (81.9, 89.4)
    """
    return score_captions(candidates, references, tokenizer=tokenizer, meteor=meteor).metrics


def score_captions(
    candidates: Mapping[Any, str] | Sequence[str],
    references: Mapping[Any, Sequence[str]] | Sequence[Sequence[str]],
    *,
    tokenizer: Tokenizer = ptb,
    meteor: MeteorChoice = "auto",
) -> CaptionScores:
    """Score one caption per image against the image's references.

    Computes `bleu1…bleu4`, `bleu1_no_bp…bleu4_no_bp` (without brevity penalty), `rouge_l`, `cider`, and `meteor`.

    Args:
        candidates: one caption per image: a list, or a mapping from anything that identifies the images.
        references: the references of each image: a list in the same order, or a mapping with the same keys.
        tokenizer: splits candidates and references into words.
        meteor: True requires METEOR, "auto" computes it if Java and pycocoevalcap are installed (a note says why not),
            False leaves it out; a running `Meteor` is used and left running.

    Example:
        >>> scored = score_captions({"a.jpg": "a dog"}, {"a.jpg": ["a dog", "the dog"]}, meteor=False)
        >>> scored.per_image["bleu1"].round(3)
        array([100.])
    """
    captions, groups = _paired(candidates, references)
    words = [tokenizer(caption) for caption in captions]
    reference_words = [[tokenizer(reference) for reference in group] for group in groups]
    corpus = Corpus(words, reference_words)
    by_order = bleu(corpus)
    per_image = {f"bleu{order}": by_order.images[order - 1] for order in ORDERS}
    per_image |= {f"bleu{order}_no_bp": by_order.images_no_bp[order - 1] for order in ORDERS}
    per_image |= {"rouge_l": rouge_l(corpus), "cider": cider(corpus)}
    metrics = {f"bleu{order}": float(by_order.corpus[order - 1]) for order in ORDERS}
    metrics |= {f"bleu{order}_no_bp": float(by_order.corpus_no_bp[order - 1]) for order in ORDERS}
    metrics |= {name: float(per_image[name].mean()) for name in ("rouge_l", "cider")}
    notes = []
    if meteor is not False:
        try:
            joined = [" ".join(one) for one in words], [[" ".join(one) for one in group] for group in reference_words]
            metrics["meteor"], per_image["meteor"] = _meteor(meteor, *joined)
        except SeetellError as error:
            if meteor != "auto":
                raise
            notes.append(f"METEOR was not measured: {error}")
    return CaptionScores(metrics, per_image, notes)


def _meteor(
    choice: MeteorChoice, candidates: list[str], references: list[list[str]]
) -> tuple[float, npt.NDArray[np.float64]]:
    if isinstance(choice, Meteor):
        return choice.scores(candidates, references)
    with Meteor() as session:
        return session.scores(candidates, references)


def _paired(
    candidates: Mapping[Any, str] | Sequence[str], references: Mapping[Any, Sequence[str]] | Sequence[Sequence[str]]
) -> tuple[list[str], list[Sequence[str]]]:
    """Captions and references in the same order."""
    if isinstance(candidates, Mapping) and isinstance(references, Mapping):
        if candidates.keys() != references.keys():
            odd = next(iter(candidates.keys() ^ references.keys()))
            lacks = "references" if odd in candidates else "caption"
            raise SeetellError(f"image {odd!r} has no {lacks}", remedy="Every image needs both")
        return list(candidates.values()), [references[key] for key in candidates]
    if isinstance(candidates, Mapping) or isinstance(references, Mapping):
        raise TypeError("give both captions and references as mappings, or both as lists")
    if any(isinstance(group, str) for group in references):
        raise TypeError("every image needs a list of references, even if there is only one")
    return list(candidates), list(references)
