"""Properties of captions that do not depend on references: diversity, novelty, length, degeneration."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from seetell.errors import SeetellError
from seetell.metrics.captions.corpus import Sentences, TokenNumbers, Tokens


def diversity(captions: Sequence[Tokens], training: Iterable[Tokens] | None = None) -> dict[str, float]:
    """How diverse a set of tokenised captions is.

    Args:
        captions: tokenised, one per image.
        training: the tokenised training captions, for `novel`.

    Returns:
        `vocabulary_used`: the number of different words; `mean_length` in words; as percentages: `repeated` (captions
        that another image also has), `distinct1` and `distinct2` (different words and bigrams among all of them),
        and, if the training captions are given, `novel` (captions that are not among them).

    Example:
        >>> diversity([["a", "dog"], ["a", "dog"], ["a", "cat", "sits"], ["birds"]])["repeated"]
        50.0
    """
    if not captions:
        raise SeetellError("there are no captions to describe")
    whole = [tuple(caption) for caption in captions]
    times = Counter(whole)
    sentences = Sentences(whole, TokenNumbers())
    words, pairs = sentences.ngrams(1), sentences.ngrams(2)
    found = {
        "vocabulary_used": float(len(words.keys)),
        "mean_length": float(np.mean(sentences.lengths)),
        "repeated": 100 * sum(times[caption] > 1 for caption in whole) / len(whole),
        "distinct1": 100 * len(words.keys) / max(1, int(words.count.sum())),
        "distinct2": 100 * len(pairs.keys) / max(1, int(pairs.count.sum())),
    }
    if training is not None:
        known = {tuple(caption) for caption in training}
        found["novel"] = 100 * sum(caption not in known for caption in whole) / len(whole)
    return found


def degenerate(captions: Sequence[Tokens], *, share: float = 0.5, at_least: int = 10) -> str | None:
    """Explain what is wrong with captions that hardly depend on the images; None if nothing is.

    Args:
        captions: tokenised, one per image.
        share: the share of images with the same caption, or an empty one, from which something is wrong.
        at_least: fewer captions than this are too few to judge.

    Example:
        >>> degenerate([["a", "dog"]] * 20)
        '20 of 20 images have the same caption, “a dog”: the captions hardly depend on the images. ...
        >>> degenerate([["a", str(number)] for number in range(20)]) is None
        True
    """
    if len(captions) < at_least:
        return None
    [(commonest, times)] = Counter(map(tuple, captions)).most_common(1)
    if times < share * len(captions):
        return None
    part = f"{times} of {len(captions)} images"
    if not commonest:
        return (
            f"The caption of {part} is empty: the model ends before its first word. Likely causes: training has "
            "collapsed or hardly started (look at the loss), or beam search without length normalisation."
        )
    caption = " ".join(map(str, commonest))
    return (
        f"{part} have the same caption, “{caption}”: the captions hardly depend on the images. Likely causes: images "
        "prepared differently than in training (pixels as 0…255 where 0…1 was learned, or another mean), training that "
        "has collapsed or hardly started (look at the loss), or equal features (an encoder without weights)."
    )
