"""Caption metrics against pycocoevalcap's own, image by image."""

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor as TheirMeteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from seetell.metrics.captions import Meteor, score_captions

THINGS = ["man", "woman", "dog", "child", "horse", "ball", "bike", "frisbee", "boat", "dog's", "T-shirt"]
COLOURS = ["red", "blue", "black", "brown", "yellow", "white", "green", "orange"]
DEEDS = ["runs", "jumps", "stands", "sits", "plays", "swims", "walks", "looks", "can't", "doesn't"]
PLACES = [
    "on the beach",
    "in the park.",
    "on a street",
    "in the water!",
    "at home",
    "in a well-lit room",
    "near the 2 cars",
]


def sentence(rng: np.random.Generator) -> str:
    """A caption in a small language, with all the punctuation that captions have."""
    words = ["A", str(rng.choice(COLOURS)), str(rng.choice(THINGS))]
    if rng.random() < 0.4:
        words += ["and a", str(rng.choice(THINGS)) + ","]
    words += [str(rng.choice(DEEDS)), str(rng.choice(PLACES))]
    if rng.random() < 0.1:
        words = words[:2]
    return " ".join(words) + str(rng.choice(["", ".", " ."]))


@pytest.fixture(scope="module", params=[0, 1])
def corpus(request: pytest.FixtureRequest) -> tuple[list[str], list[list[str]]]:
    rng = np.random.default_rng(request.param)
    references = [[sentence(rng) for _ in range(rng.integers(1, 7))] for _ in range(150)]
    # A third of the captions are a reference of their image, a third one of another's, a third none at all.
    captions = [
        [group[0], references[rng.integers(150)][0], sentence(rng)][i % 3] for i, group in enumerate(references)
    ]
    captions[7] = "zebra"
    return captions, references


def theirs(corpus: tuple[list[str], list[list[str]]]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """References and captions as pycocoevalcap wants them, split at spaces."""
    captions, references = corpus
    return dict(enumerate(references)), {index: [caption] for index, caption in enumerate(captions)}


def test_bleu_rouge_and_cider(corpus: tuple[list[str], list[list[str]]]) -> None:
    ours = score_captions(*corpus, tokenizer=str.split, meteor=False)
    whole, each = Bleu(4).compute_score(*theirs(corpus), verbose=0)
    for order in range(4):
        assert ours.metrics[f"bleu{order + 1}"] == pytest.approx(100 * whole[order], abs=1e-8)
        np.testing.assert_allclose(ours.per_image[f"bleu{order + 1}"], 100 * np.array(each[order]), atol=1e-8)
    for name, scorer in (("rouge_l", Rouge()), ("cider", Cider())):
        mean, scores = scorer.compute_score(*theirs(corpus))
        assert ours.metrics[name] == pytest.approx(100 * mean, abs=1e-8)
        np.testing.assert_allclose(ours.per_image[name], 100 * scores, atol=1e-8)


@pytest.mark.java
def test_tokenisation_included(corpus: tuple[list[str], list[list[str]]]) -> None:
    references, captions = (
        PTBTokenizer().tokenize({key: [{"caption": one} for one in group] for key, group in side.items()})
        for side in theirs(corpus)
    )
    ours = score_captions(*corpus, meteor=False).metrics
    assert [ours[f"bleu{n}"] for n in (1, 2, 3, 4)] == pytest.approx(
        [100 * score for score in Bleu(4).compute_score(references, captions, verbose=0)[0]]
    )
    assert ours["rouge_l"] == pytest.approx(100 * Rouge().compute_score(references, captions)[0])
    assert ours["cider"] == pytest.approx(100 * Cider().compute_score(references, captions)[0])


@pytest.mark.java
def test_meteor() -> None:
    rng = np.random.default_rng(5)
    references = [[sentence(rng) for _ in range(3)] for _ in range(40)]
    captions = [sentence(rng) for _ in range(40)]
    their_whole, their_each = TheirMeteor().compute_score(*theirs((captions, references)))
    with Meteor() as session:
        ours = score_captions(captions, references, tokenizer=str.split, meteor=session)
    assert ours.metrics["meteor"] == pytest.approx(100 * their_whole)
    np.testing.assert_allclose(ours.per_image["meteor"], 100 * np.array(their_each))
    assert 5 < ours.metrics["meteor"] < 95
