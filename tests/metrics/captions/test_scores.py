"""All caption metrics at once."""

import pytest

from seetell.errors import SeetellError
from seetell.metrics.captions import caption_scores, meteor, score_captions
from seetell.metrics.captions.bleu import bleu
from seetell.metrics.captions.cider import cider
from seetell.metrics.captions.corpus import Corpus
from seetell.metrics.captions.rouge import rouge_l

CAPTIONS = ["A dog runs.", "Two girls play on the beach", "A man's red car"]
REFERENCES = [
    ["A brown dog runs.", "The dog is running"],
    ["Two girls play in the sand"],
    ["the man has a red car", "A red car, parked", "a car"],
]
NAMES = {*(f"bleu{n}{end}" for n in (1, 2, 3, 4) for end in ("", "_no_bp")), "rouge_l", "cider"}


def test_every_metric_of_the_tokenised_captions() -> None:
    found = score_captions(CAPTIONS, REFERENCES, meteor=False)
    words = [["a", "dog", "runs"], ["two", "girls", "play", "on", "the", "beach"], ["a", "man", "'s", "red", "car"]]
    references = [
        [["a", "brown", "dog", "runs"], ["the", "dog", "is", "running"]],
        [["two", "girls", "play", "in", "the", "sand"]],
        [["the", "man", "has", "a", "red", "car"], ["a", "red", "car", "parked"], ["a", "car"]],
    ]
    corpus = Corpus(words, references)
    assert found.metrics.keys() == found.per_image.keys() == NAMES
    assert [found.metrics[f"bleu{n}"] for n in (1, 2, 3, 4)] == pytest.approx(bleu(corpus).corpus.tolist())
    assert found.metrics["bleu2_no_bp"] == pytest.approx(bleu(corpus).corpus_no_bp[1])
    assert found.per_image["rouge_l"].tolist() == pytest.approx(rouge_l(corpus).tolist())
    assert found.metrics["rouge_l"] == pytest.approx(rouge_l(corpus).mean())
    assert found.per_image["cider"].tolist() == pytest.approx(cider(corpus).tolist())
    assert found.metrics["cider"] == pytest.approx(cider(corpus).mean())
    assert found.notes == []


def test_images_may_have_names() -> None:
    names = ["one.jpg", "two.jpg", "three.jpg"]
    references = dict(reversed(list(zip(names, REFERENCES, strict=True))))
    found = caption_scores(dict(zip(names, CAPTIONS, strict=True)), references, meteor=False)
    assert found == caption_scores(CAPTIONS, REFERENCES, meteor=False)


def test_another_tokenizer() -> None:
    plain = caption_scores(["a b."], [["a b"]], tokenizer=str.split, meteor=False)
    assert plain["bleu1"] == pytest.approx(50)


def test_meteor_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor.shutil, "which", lambda name: None)
    monkeypatch.setattr(meteor.Path, "is_file", lambda path: True)
    monkeypatch.setattr(meteor.importlib.util, "find_spec", lambda name: meteor)
    monkeypatch.setattr(meteor, "submodule_search_locations", ["anywhere"], raising=False)
    found = score_captions(CAPTIONS, REFERENCES)
    assert found.metrics.keys() == NAMES
    assert found.notes[0].startswith("METEOR was not measured: METEOR needs Java")
    with pytest.raises(SeetellError, match="needs Java"):
        caption_scores(CAPTIONS, REFERENCES, meteor=True)


def test_mistakes_are_named() -> None:
    with pytest.raises(SeetellError, match="image 'b' has no references"):
        caption_scores({"a": "x", "b": "y"}, {"a": ["x"]})
    with pytest.raises(SeetellError, match="image 'b' has no caption"):
        caption_scores({"a": "x"}, {"a": ["x"], "b": ["y"]})
    with pytest.raises(TypeError, match="both"):
        caption_scores({"a": "x"}, [["x"]])
    with pytest.raises(TypeError, match="list of references"):
        caption_scores(["x"], ["x"])
    with pytest.raises(SeetellError, match="image 1 has no reference captions"):
        caption_scores(["x", "y"], [["x"], []])
