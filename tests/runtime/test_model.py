"""A bundle at work, against the same computations in plain numpy."""

import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from PIL import Image

from helpers.tiny_bundles import LABELS, VOCABULARY, WEIGHTS, files, fitting_words, forge, manifest, write_tiny
from seetell.bundle import Bundle, BundleError, Decoding, RetryPart, write_bundle
from seetell.errors import ImageError
from seetell.images import Preparation
from seetell.progress import Event, Progress
from seetell.runtime import Model, open_model

COLOURS = [(250, 10, 10), (10, 250, 10), (10, 10, 250), (200, 200, 10), (90, 120, 40)]
SYMBOLS = VOCABULARY.split()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("runtime") / "tiny"
    write_tiny(path)
    with open_model(path, threads=2) as opened:
        yield opened


def image(index: int) -> Image.Image:
    """Two colours, so that the quarters differ."""
    drawn = Image.new("RGB", (16, 16), COLOURS[index % len(COLOURS)])
    drawn.paste(COLOURS[(index * 2 + 1) % len(COLOURS)], (0, 8, 16, 16))
    return drawn


def features(image: Image.Image) -> NDArray[np.float32]:
    pixels = np.asarray(image.resize((8, 8), Image.Resampling.BILINEAR), np.float32) / 255
    return np.stack([pixels[y : y + 4, x : x + 4].mean((0, 1)) for y in (0, 4) for x in (0, 4)])


def greedy_by_hand(grid: NDArray[np.float32]) -> tuple[list[str], list[float], list[NDArray[np.float32]]]:
    """The captioner's own equations, one image and one word at a time."""
    h, last, words, logs, looks = grid.mean(0), 1, [], [], []
    while True:
        energies = np.exp(grid @ h)
        attention = energies / energies.sum()
        h = np.tanh(WEIGHTS["E"][last] + h @ WEIGHTS["U"] + (attention @ grid) @ WEIGHTS["Z"])
        logits = h @ WEIGHTS["O"]
        log_probs = logits - np.log(np.exp(logits).sum())
        full = len(words) == 6
        allowed = [2] if full else [token for token in range(12) if token not in (0, 1, 3)]
        last = max(allowed, key=lambda token: log_probs[token])
        logs.append(float(log_probs[last]))
        if last == 2:
            return words, logs, looks
        words.append(SYMBOLS[last])
        looks.append(attention)


def test_captions_equal_those_by_hand(model: Model) -> None:
    for index, result in enumerate(model.captioner([image(i) for i in range(5)], beam=1)):
        words, logs, looks = greedy_by_hand(features(image(index)))
        assert list(result.best.words) == words
        np.testing.assert_allclose(result.best.word_log_probabilities, logs, atol=1e-4)
        assert result.best.log_probability == pytest.approx(sum(logs), abs=1e-4)
        assert result.best.attention is not None
        np.testing.assert_allclose(result.best.attention, np.array(looks).reshape(-1, 4), atol=1e-4)


def test_beam_search_finds_no_less_and_n_best_are_in_order(model: Model) -> None:
    for index in range(5):
        best = model.captioner(image(index), n_best=3)
        assert len(best.captions) == 3
        scores = [caption.log_probability for caption in best.captions]
        assert scores == sorted(scores, reverse=True)
        assert len({caption.words for caption in best.captions}) == 3
        wide = model.captioner(image(index), beam=12)
        assert wide.best.log_probability >= model.captioner(image(index), beam=1).best.log_probability - 1e-6
    assert len(model.captioner(image(0), maximum_length=2).best.words) <= 2


def test_captions_are_chosen_by_how_well_they_fit(model: Model, tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    six = replace(tiny.captioner.sequence, decoding=replace(tiny.captioner.sequence.decoding, beam=6))
    chosen = replace(tiny, captioner=replace(tiny.captioner, sequence=six, rerank_weight=50.0))
    with Model(write_bundle(tmp_path / "rerank_weight", chosen, files())) as rerank_weight:
        changed = 0
        for index in range(5):
            plain = model.captioner(image(index), beam=6, n_best=6).captions
            fits = {match.text: match.score for match in model.retriever.match(image(index), [c.text for c in plain])}
            scores = {caption.text: caption.score + 50.0 * fits[caption.text] for caption in plain}
            wanted = sorted(scores, key=lambda text: -scores[text])
            found = rerank_weight.captioner(image(index), n_best=6).captions
            assert [caption.text for caption in found] == wanted
            assert [caption.score for caption in found] == pytest.approx([scores[text] for text in wanted], abs=1e-4)
            changed += wanted[0] != plain[0].text
            assert rerank_weight.captioner(image(index)).text == rerank_weight.describe(image(index)).text == wanted[0]
            assert rerank_weight.captioner(image(index), rerank_weight=0).text == plain[0].text
            assert model.captioner(image(index), beam=6, rerank_weight=50.0).text == wanted[0]
            greedy = rerank_weight.captioner(image(index), beam=1)  # there is nothing to choose from
            assert greedy.text == model.captioner(image(index), beam=1).text
        assert changed


def test_captions_with_a_low_similarity_are_uncertain(model: Model, tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    plain = model.captioner(image(0)).best
    assert plain.similarity is None
    assert not plain.uncertain
    assert plain.hedged == plain.text
    six = replace(tiny.captioner.sequence, decoding=replace(tiny.captioner.sequence.decoding, beam=6))
    matched = replace(tiny.captioner, sequence=six, rerank_weight=50.0)
    with Model(write_bundle(tmp_path / "matched", replace(tiny, captioner=matched), files())) as whole:
        fits = [whole.captioner(image(index)).best.similarity or 0.0 for index in range(5)]
    limit = float(np.median(fits))
    assert min(fits) < limit < max(fits)
    doubting = replace(tiny, captioner=replace(matched, uncertain_below=limit))
    with Model(write_bundle(tmp_path / "doubting", doubting, files())) as doubting_model:
        for index, fit in enumerate(fits):
            best = doubting_model.captioner(image(index)).best
            assert best.similarity == pytest.approx(fit)
            assert best.similarity == pytest.approx(model.retriever.match(image(index), [best.text])[0].score, abs=1e-5)
            assert best.uncertain == (fit < limit)
            hedged = f"perhaps {best.text}" if fit < limit else best.text
            assert best.hedged == doubting_model.describe(image(index)).text == hedged


def test_images_with_a_low_similarity_are_captioned_again_with_matching_words(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    words = np.arange(4, 10)
    made = {**files(), "again.onnx": fitting_words(words, WEIGHTS["T"][words])}
    sequence = replace(tiny.captioner.sequence, decoding=Decoding(beam=2, maximum_length=4))
    best: dict[float, list[tuple[str, float]]] = {}
    for below in (-1.1, -0.1, 1.1):  # never, sometimes, always
        head = replace(tiny.captioner, sequence=sequence, rerank_weight=50.0, retry=RetryPart("again.onnx", below))
        with Model(write_bundle(tmp_path / f"{below}", replace(tiny, captioner=head), made)) as again:
            found = [again.captioner(image(index)).best for index in range(5)]
            best[below] = [(caption.text, caption.similarity or 0.0) for caption in found]
            assert [again.describe(image(index)).text for index in range(5)] == [text for text, _ in best[below]]
            assert len(again.captioner(image(0), beam=1).captions) == 1  # nothing to compare with
    never, sometimes, always = best.values()
    assert sometimes == [one if one[1] >= -0.1 else other for one, other in zip(never, always, strict=True)]
    assert 0 < sum(one != other for one, other in zip(sometimes, never, strict=True)) < 5


def test_retried_captions_contain_a_matching_word(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    words = np.arange(4, 10)
    made = {**files(), "again.onnx": fitting_words(words, WEIGHTS["T"][words])}
    head = replace(tiny.captioner, rerank_weight=0.01, retry=RetryPart("again.onnx", 1.1))
    with Model(write_bundle(tmp_path / "again", replace(tiny, captioner=head), made)) as model:
        for index in range(5):
            fits = model.retriever.images(image(index)).vector @ WEIGHTS["T"][words].T
            fitting = {model.captioner.vocabulary.word(int(words[index])) for index in np.argsort(-fits)[:2]}
            plain = {caption.words for caption in model.captioner(image(index), n_best=3, rerank_weight=0).captions}
            retried = model.captioner(image(index), n_best=3).captions
            assert [caption.score for caption in retried] == sorted((c.score for c in retried), reverse=True)
            assert len({caption.words for caption in retried}) == len(retried)
            assert all(caption.words in plain or fitting & set(caption.words) for caption in retried)


def test_words_that_the_captioner_does_not_know_are_refused(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    head = replace(tiny.captioner, rerank_weight=2.0, retry=RetryPart("again.onnx", 1.1))
    for words in ([4, 99], [-1, 4], [4.0, 5.0]):  # the last: not numbers of words
        made = {**files(), "again.onnx": fitting_words(np.array(words), WEIGHTS["T"][:2])}
        wrong = write_bundle(tmp_path / f"{words}", replace(tiny, captioner=head), made)
        with Model(wrong) as model, pytest.raises(BundleError, match="not in the vocabulary"):
            model.captioner(image(0))


def test_uncertainty_needs_a_rerank_weight(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    with pytest.raises(BundleError, match="uncertain_below is set"):
        replace(tiny.captioner, uncertain_below=0.3)
    with pytest.raises(BundleError, match="retry is set"):
        replace(tiny.captioner, retry=RetryPart("again.onnx", 0.3))
    refused = write_tiny(tmp_path / "forged").path
    with pytest.raises(BundleError, match="uncertain_below is set") as caught:
        Bundle.open(forge(refused, lambda content: content["captioner"].update(uncertain_below=0.3)))
    assert str(refused) in caught.value.where


def test_tags_equal_those_by_hand(model: Model) -> None:
    for index in range(5):
        mean = features(image(index)).mean(0)
        wanted = 1 / (1 + np.exp(-mean @ WEIGHTS["C"]))
        found = model.tagger(image(index))
        assert found.scores is not None
        np.testing.assert_allclose(found.scores, wanted, atol=1e-5)
        sure = {label: p for label, p in zip(LABELS, wanted, strict=True) if p >= 0.5}
        assert {tag.label: tag.confidence for tag in found.tags} == pytest.approx(sure, abs=1e-5)
        confidences = [tag.confidence for tag in found.tags]
        assert confidences == sorted(confidences, reverse=True)
        assert len(model.tagger(image(index), top=2).tags) == 2
        assert len(model.tagger(image(index), threshold=0.0).tags) == 3
        assert model.tagger(image(index), threshold=1.0).tags == ()


def test_embeddings_and_matches_equal_those_by_hand(model: Model) -> None:
    retriever = model.retriever
    texts = ["Red!", "a blue thing and a green thing.", "blue", "zebra", ""]
    tokens = [["red", "!"], ["a", "blue", "thing", "and", "a", "green", "thing", "."], ["blue"], ["zebra"], ["?"]]
    numbers = [[SYMBOLS.index(word) if word in SYMBOLS else 3 for word in words] for words in tokens]
    wanted = np.stack([WEIGHTS["T"][n].mean(0) for n in numbers])
    np.testing.assert_allclose(retriever.embed_texts(texts), wanted, atol=1e-5)
    vector = features(image(1)).mean(0) @ WEIGHTS["P"]
    np.testing.assert_allclose(retriever.images(image(1)).vector, vector, atol=1e-5)
    scores = wanted @ vector / np.linalg.norm(wanted, axis=1) / np.linalg.norm(vector)
    matches = retriever.match(image(1), texts)
    assert [match.text for match in matches] == [texts[i] for i in np.argsort(-scores, kind="stable")]
    np.testing.assert_allclose([match.score for match in matches], np.sort(scores)[::-1], atol=1e-5)
    assert retriever.unknown("a red zebra and a zebra") == ["zebra"]
    assert retriever.match(image(1), []) == []
    assert retriever.embed_texts([]).shape == (0, 5)


def test_many_texts_keep_their_places(model: Model) -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(SYMBOLS[4:9], size=random.integers(1, 9))) for _ in range(200)]
    together = model.retriever.embed_texts(texts)
    for index in range(0, 200, 17):
        np.testing.assert_allclose(together[index], model.retriever.embed_texts([texts[index]])[0], atol=1e-5)


def test_every_form_of_an_image_gives_the_same(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    image(3).save(path)
    data = path.read_bytes()
    opened = Image.open(io.BytesIO(data))

    class Drawn:
        name = "drawn"

        def read(self) -> bytes:
            return data

    forms = [path, str(path), data, opened, np.asarray(image(3)), Drawn()]
    results = list(model.captioner(forms))
    assert {result.text for result in results} == {model.captioner(path).text}
    assert [result.name for result in results] == [
        str(path),
        str(path),
        "image 3",
        "image 4",
        "image 5",
        "drawn",
    ]
    assert model.captioner(data).name == "image"
    assert [each.text for each in model.captioner(iter(forms))] == [each.text for each in results]
    assert list(model.captioner([])) == []
    with pytest.raises(TypeError, match="not int"):
        list(model.captioner([3]))  # type: ignore[list-item]


def test_descriptions_equal_the_results_of_the_heads(model: Model) -> None:
    images = [image(i) for i in range(5)]
    described = list(model.describe(images))
    for one, caption, tags, vector in zip(
        described, model.captioner(images), model.tagger(images), model.retriever.images(images), strict=True
    ):
        assert one.text == caption.text
        assert one.tags == tags.tags
        assert one.embedding is not None
        np.testing.assert_allclose(one.embedding, vector.vector, atol=1e-6)
    assert model.describe(image(2)).text == described[2].text


def test_an_image_is_encoded_once_for_all_heads(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    from seetell.runtime.encoder import ImageEncoder

    seen: list[int] = []
    see = ImageEncoder.encode

    def counting(self: ImageEncoder, images: object) -> object:
        seen.append(len(images))  # type: ignore[arg-type]
        return see(self, images)  # type: ignore[arg-type]

    monkeypatch.setattr(ImageEncoder, "encode", counting)
    assert len(list(model.describe([image(i) for i in range(5)]))) == 5
    assert sum(seen) == 5


def test_bad_images_keep_their_places_and_stop_nothing(model: Model, tmp_path: Path) -> None:
    good = tmp_path / "good.png"
    image(0).save(good)
    (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8\xff rubbish")
    sources = [good, tmp_path / "absent.png", good, tmp_path / "bad.jpg", b"", good]
    events: list[Event] = []
    for results in (
        list(model.captioner(sources, progress=Progress(events.append))),
        list(model.tagger(sources)),
        list(model.retriever.images(sources)),
        list(model.describe(sources)),
    ):
        assert [result.error is None for result in results] == [True, False, True, False, False, True]
        for result, source in zip(results, sources, strict=True):
            if result.error is not None and not isinstance(source, bytes):
                assert result.error.where == str(source) == result.name
    assert [event.done for event in events] == [1, 2, 3, 4, 5, 6, 6]
    assert events[-1].total == 6
    assert events[-1].note == "3 unreadable"
    with pytest.raises(ImageError, match="no such file"):
        model.captioner("absent.jpg").text  # noqa: B018
    with pytest.raises(ImageError):
        model.tagger("absent.jpg").labels  # noqa: B018
    with pytest.raises(ImageError):
        model.retriever.match("absent.jpg", ["red"])
    assert list(model.captioner(["absent.jpg"] * 40))[39].error is not None


def test_results_come_in_order_from_many_batches(model: Model) -> None:
    expected = [model.captioner(image(index)).text for index in range(103)]
    assert len(set(expected)) > 1
    assert [result.text for result in model.captioner(image(index) for index in range(103))] == expected


def test_a_stream_reads_little_ahead_and_may_be_left(model: Model) -> None:
    taken = 0

    def endless() -> Iterator[Image.Image]:
        nonlocal taken
        while True:
            taken += 1
            yield image(taken)

    stream = model.tagger(endless())
    for _ in range(3):
        next(stream)
    assert taken <= 16 * 6
    stream.close()  # type: ignore[attr-defined]
    time.sleep(0.05)
    before = taken
    assert model.tagger(image(0)).error is None
    assert taken == before


def test_an_error_of_the_source_reaches_the_caller(model: Model) -> None:
    def failing() -> Iterator[Image.Image]:
        yield image(0)
        raise RuntimeError("the source is broken")

    with pytest.raises(RuntimeError, match="the source is broken"):
        list(model.tagger(failing()))


def test_threads_may_share_a_model(tmp_path: Path) -> None:
    write_tiny(tmp_path / "b")
    expected: dict[int, str] = {}
    with open_model(tmp_path / "b", threads=3) as shared:
        found: list[tuple[int, str]] = []

        def work(start: int) -> None:
            found.extend((index, shared.captioner(image(index)).text) for index in range(start, start + 20))
            several = shared.captioner([image(index) for index in range(40)])
            found.extend((index, result.text) for index, result in enumerate(several))

        workers = [threading.Thread(target=work, args=(start,)) for start in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for index, text in found:
            assert expected.setdefault(index, text) == text
        assert len(found) == 8 * 60
        names = {thread.name for thread in threading.enumerate() if thread.name.startswith("seetell")}
        assert len(names) <= 3 + 2  # this model's, and those of the module's


def test_ten_crops_are_averaged(tmp_path: Path) -> None:
    preparation = Preparation(size=8, resize=10, fit="squash", crops="ten", mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    heads = ("tagger",)
    made = manifest(heads, preparation)
    write_bundle(tmp_path / "b", made, files(heads))
    with open_model(tmp_path / "b") as model:
        drawn = image(1)
        mean = preparation(drawn).mean((2, 3)).mean(0)
        found = model.tagger([drawn, drawn])
        for each in found:
            np.testing.assert_allclose(each.scores, 1 / (1 + np.exp(-mean @ WEIGHTS["C"])), atol=1e-5)


def test_a_head_that_is_not_there_says_which_are(tmp_path: Path) -> None:
    write_tiny(tmp_path / "b", ("tagger",))
    with open_model(tmp_path / "b") as model:
        assert model.kinds == ("tagger",)
        with pytest.raises(BundleError, match="cannot caption images: it has only a tagger"):
            model.captioner  # noqa: B018
        described = model.describe(image(0))
        assert described.captions == ()
        assert described.text == ""
        assert described.tags
        assert described.embedding is None
