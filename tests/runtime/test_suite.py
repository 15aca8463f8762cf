"""A bundle at work, against the same computations in plain numpy."""

import io
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from seetell.bundle import AgainPart, BundleError, Decoding, write_bundle
from seetell.errors import PictureError
from seetell.images import Preparation
from seetell.progress import Event, Progress
from seetell.runtime import Suite, open_bundle
from tiny_bundles import LABELS, VOCABULARY, WEIGHTS, files, fitting_words, manifest, write_tiny

COLOURS = [(250, 10, 10), (10, 250, 10), (10, 10, 250), (200, 200, 10), (90, 120, 40)]
SYMBOLS = VOCABULARY.split()


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    path = tmp_path_factory.mktemp("runtime") / "tiny"
    write_tiny(path)
    with open_bundle(path, threads=2) as opened:
        yield opened


def picture(place: int) -> Image.Image:
    """Two colours, so that the quarters differ."""
    image = Image.new("RGB", (16, 16), COLOURS[place % len(COLOURS)])
    image.paste(COLOURS[(place * 2 + 1) % len(COLOURS)], (0, 8, 16, 16))
    return image


def features(image: Image.Image) -> NDArray[np.float32]:
    pixels = np.asarray(image.resize((8, 8), Image.Resampling.BILINEAR), np.float32) / 255
    return np.stack([pixels[y : y + 4, x : x + 4].mean((0, 1)) for y in (0, 4) for x in (0, 4)])


def greedy_by_hand(grid: NDArray[np.float32]) -> tuple[list[str], list[float], list[NDArray[np.float32]]]:
    """The captioner's own equations, one picture and one word at a time."""
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


def test_captions_equal_those_by_hand(suite: Suite) -> None:
    for place, result in enumerate(suite.captioner([picture(i) for i in range(5)], beam=1)):
        words, logs, looks = greedy_by_hand(features(picture(place)))
        assert list(result.best.words) == words
        np.testing.assert_allclose(result.best.word_log_probabilities, logs, atol=1e-4)
        assert result.best.log_probability == pytest.approx(sum(logs), abs=1e-4)
        assert result.best.attention is not None
        np.testing.assert_allclose(result.best.attention, np.array(looks).reshape(-1, 4), atol=1e-4)


def test_beam_search_finds_no_less_and_n_best_are_in_order(suite: Suite) -> None:
    for place in range(5):
        best = suite.captioner(picture(place), n_best=3)
        assert len(best.captions) == 3
        scores = [caption.log_probability for caption in best.captions]
        assert scores == sorted(scores, reverse=True)
        assert len({caption.words for caption in best.captions}) == 3
        wide = suite.captioner(picture(place), beam=12)
        assert wide.best.log_probability >= suite.captioner(picture(place), beam=1).best.log_probability - 1e-6
    assert len(suite.captioner(picture(0), maximum_length=2).best.words) <= 2


def test_captions_are_chosen_by_how_well_they_fit(suite: Suite, tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    six = replace(tiny.captioner.sequence, decoding=replace(tiny.captioner.sequence.decoding, beam=6))
    chosen = replace(tiny, captioner=replace(tiny.captioner, sequence=six, matching=50.0))
    with Suite(write_bundle(tmp_path / "matching", chosen, files())) as matching:
        changed = 0
        for place in range(5):
            plain = suite.captioner(picture(place), beam=6, n_best=6).captions
            fits = {match.text: match.score for match in suite.retriever.match(picture(place), [c.text for c in plain])}
            scores = {caption.text: caption.score + 50.0 * fits[caption.text] for caption in plain}
            wanted = sorted(scores, key=lambda text: -scores[text])
            found = matching.captioner(picture(place), n_best=6).captions
            assert [caption.text for caption in found] == wanted
            assert [caption.score for caption in found] == pytest.approx([scores[text] for text in wanted], abs=1e-4)
            changed += wanted[0] != plain[0].text
            assert matching.captioner(picture(place)).text == matching.describe(picture(place)).text == wanted[0]
            assert matching.captioner(picture(place), matching=0).text == plain[0].text
            assert suite.captioner(picture(place), beam=6, matching=50.0).text == wanted[0]
            greedy = matching.captioner(picture(place), beam=1)  # there is nothing to choose from
            assert greedy.text == suite.captioner(picture(place), beam=1).text
        assert changed


def test_captions_that_fit_badly_are_doubtful(suite: Suite, tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    plain = suite.captioner(picture(0)).best
    assert plain.fit is None
    assert not plain.doubtful
    assert plain.hedged == plain.text
    six = replace(tiny.captioner.sequence, decoding=replace(tiny.captioner.sequence.decoding, beam=6))
    matched = replace(tiny.captioner, sequence=six, matching=50.0)
    with Suite(write_bundle(tmp_path / "matched", replace(tiny, captioner=matched), files())) as whole:
        fits = [whole.captioner(picture(place)).best.fit or 0.0 for place in range(5)]
    limit = float(np.median(fits))
    assert min(fits) < limit < max(fits)
    doubting = replace(tiny, captioner=replace(matched, doubtful=limit))
    with Suite(write_bundle(tmp_path / "doubting", doubting, files())) as doubting_suite:
        for place, fit in enumerate(fits):
            best = doubting_suite.captioner(picture(place)).best
            assert best.fit == pytest.approx(fit)
            assert best.fit == pytest.approx(suite.retriever.match(picture(place), [best.text])[0].score, abs=1e-5)
            assert best.doubtful == (fit < limit)
            said = f"perhaps {best.text}" if fit < limit else best.text
            assert best.hedged == doubting_suite.describe(picture(place)).text == said


def test_captions_that_fit_badly_are_told_again_with_words_that_fit(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    words = np.arange(4, 10)
    made = {**files(), "again.onnx": fitting_words(words, WEIGHTS["T"][words])}
    sequence = replace(tiny.captioner.sequence, decoding=Decoding(beam=2, maximum_length=4))
    best: dict[float, list[tuple[str, float]]] = {}
    for below in (-1.1, -0.1, 1.1):  # never, sometimes, always
        head = replace(tiny.captioner, sequence=sequence, matching=50.0, again=AgainPart("again.onnx", below))
        with Suite(write_bundle(tmp_path / f"{below}", replace(tiny, captioner=head), made)) as again:
            found = [again.captioner(picture(place)).best for place in range(5)]
            best[below] = [(caption.text, caption.fit or 0.0) for caption in found]
            assert [again.describe(picture(place)).text for place in range(5)] == [text for text, _ in best[below]]
            assert len(again.captioner(picture(0), beam=1).captions) == 1  # nothing to compare with
    never, sometimes, always = best.values()
    assert sometimes == [one if one[1] >= -0.1 else other for one, other in zip(never, always, strict=True)]
    assert 0 < sum(one != other for one, other in zip(sometimes, never, strict=True)) < 5


def test_what_is_told_again_has_a_word_that_fits(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    words = np.arange(4, 10)
    made = {**files(), "again.onnx": fitting_words(words, WEIGHTS["T"][words])}
    head = replace(tiny.captioner, matching=0.01, again=AgainPart("again.onnx", 1.1))
    with Suite(write_bundle(tmp_path / "again", replace(tiny, captioner=head), made)) as suite:
        for place in range(5):
            fits = suite.retriever.pictures(picture(place)).vector @ WEIGHTS["T"][words].T
            fitting = {suite.captioner.vocabulary.word(int(words[place])) for place in np.argsort(-fits)[:2]}
            plain = {caption.words for caption in suite.captioner(picture(place), n_best=3, matching=0).captions}
            told = suite.captioner(picture(place), n_best=3).captions
            assert [caption.score for caption in told] == sorted((c.score for c in told), reverse=True)
            assert len({caption.words for caption in told}) == len(told)
            assert all(caption.words in plain or fitting & set(caption.words) for caption in told)


def test_words_that_the_captioner_does_not_know_are_refused(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    head = replace(tiny.captioner, matching=2.0, again=AgainPart("again.onnx", 1.1))
    for words in ([4, 99], [-1, 4], [4.0, 5.0]):  # the last: not numbers of words
        made = {**files(), "again.onnx": fitting_words(np.array(words), WEIGHTS["T"][:2])}
        wrong = write_bundle(tmp_path / f"{words}", replace(tiny, captioner=head), made)
        with Suite(wrong) as suite, pytest.raises(BundleError, match="none of its vocabulary"):
            suite.captioner(picture(0))


def test_doubt_needs_a_retriever_that_matches(tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    with pytest.raises(BundleError, match="doubted by their fit"):
        write_bundle(tmp_path / "wrong", replace(tiny, captioner=replace(tiny.captioner, doubtful=0.3)), files())
    again = replace(tiny.captioner, again=AgainPart("again.onnx", 0.3))
    made = {**files(), "again.onnx": fitting_words(np.array([4, 5]), WEIGHTS["T"][:2])}
    with pytest.raises(BundleError, match="told again by their fit"):
        write_bundle(tmp_path / "wrong", replace(tiny, captioner=again), made)


def test_tags_equal_those_by_hand(suite: Suite) -> None:
    for place in range(5):
        mean = features(picture(place)).mean(0)
        wanted = 1 / (1 + np.exp(-mean @ WEIGHTS["C"]))
        found = suite.tagger(picture(place))
        assert found.scores is not None
        np.testing.assert_allclose(found.scores, wanted, atol=1e-5)
        sure = {label: p for label, p in zip(LABELS, wanted, strict=True) if p >= 0.5}
        assert {tag.label: tag.confidence for tag in found.tags} == pytest.approx(sure, abs=1e-5)
        confidences = [tag.confidence for tag in found.tags]
        assert confidences == sorted(confidences, reverse=True)
        assert len(suite.tagger(picture(place), top=2).tags) == 2
        assert len(suite.tagger(picture(place), threshold=0.0).tags) == 3
        assert suite.tagger(picture(place), threshold=1.0).tags == ()


def test_embeddings_and_matches_equal_those_by_hand(suite: Suite) -> None:
    retriever = suite.retriever
    texts = ["Red!", "a blue thing and a green thing.", "blue", "zebra", ""]
    tokens = [["red", "!"], ["a", "blue", "thing", "and", "a", "green", "thing", "."], ["blue"], ["zebra"], ["?"]]
    numbers = [[SYMBOLS.index(word) if word in SYMBOLS else 3 for word in words] for words in tokens]
    wanted = np.stack([WEIGHTS["T"][n].mean(0) for n in numbers])
    np.testing.assert_allclose(retriever.texts(texts), wanted, atol=1e-5)
    vector = features(picture(1)).mean(0) @ WEIGHTS["P"]
    np.testing.assert_allclose(retriever.pictures(picture(1)).vector, vector, atol=1e-5)
    scores = wanted @ vector / np.linalg.norm(wanted, axis=1) / np.linalg.norm(vector)
    matches = retriever.match(picture(1), texts)
    assert [match.text for match in matches] == [texts[i] for i in np.argsort(-scores, kind="stable")]
    np.testing.assert_allclose([match.score for match in matches], np.sort(scores)[::-1], atol=1e-5)
    assert retriever.unknown("a red zebra and a zebra") == ["zebra"]
    assert retriever.match(picture(1), []) == []
    assert retriever.texts([]).shape == (0, 5)


def test_many_texts_keep_their_places(suite: Suite) -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(SYMBOLS[4:9], size=random.integers(1, 9))) for _ in range(200)]
    together = suite.retriever.texts(texts)
    for place in range(0, 200, 17):
        np.testing.assert_allclose(together[place], suite.retriever.texts([texts[place]])[0], atol=1e-5)


def test_every_form_of_a_picture_gives_the_same(suite: Suite, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    picture(3).save(path)
    data = path.read_bytes()
    opened = Image.open(io.BytesIO(data))

    class Drawn:
        name = "drawn"

        def read(self) -> bytes:
            return data

    forms = [path, str(path), data, opened, np.asarray(picture(3)), Drawn()]
    results = list(suite.captioner(forms))
    assert {result.text for result in results} == {suite.captioner(path).text}
    assert [result.picture for result in results] == [
        str(path),
        str(path),
        "picture 3",
        "picture 4",
        "picture 5",
        "drawn",
    ]
    assert suite.captioner(data).picture == "picture"
    assert [each.text for each in suite.captioner(iter(forms))] == [each.text for each in results]
    assert list(suite.captioner([])) == []
    with pytest.raises(TypeError, match="not int"):
        list(suite.captioner([3]))  # type: ignore[list-item]


def test_a_suite_says_what_its_heads_say(suite: Suite) -> None:
    pictures = [picture(i) for i in range(5)]
    described = list(suite.describe(pictures))
    for one, caption, tags, vector in zip(
        described, suite.captioner(pictures), suite.tagger(pictures), suite.retriever.pictures(pictures), strict=True
    ):
        assert one.text == caption.text
        assert one.tags == tags.tags
        assert one.embedding is not None
        np.testing.assert_allclose(one.embedding, vector.vector, atol=1e-6)
    assert suite.describe(picture(2)).text == described[2].text


def test_a_picture_is_encoded_once_for_all_heads(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    from seetell.runtime.eye import Eye

    seen: list[int] = []
    see = Eye.see

    def counting(self: Eye, pictures: object) -> object:
        seen.append(len(pictures))  # type: ignore[arg-type]
        return see(self, pictures)  # type: ignore[arg-type]

    monkeypatch.setattr(Eye, "see", counting)
    assert len(list(suite.describe([picture(i) for i in range(5)]))) == 5
    assert sum(seen) == 5


def test_bad_pictures_keep_their_places_and_stop_nothing(suite: Suite, tmp_path: Path) -> None:
    good = tmp_path / "good.png"
    picture(0).save(good)
    (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8\xff rubbish")
    sources = [good, tmp_path / "absent.png", good, tmp_path / "bad.jpg", b"", good]
    events: list[Event] = []
    for results in (
        list(suite.captioner(sources, progress=Progress(events.append))),
        list(suite.tagger(sources)),
        list(suite.retriever.pictures(sources)),
        list(suite.describe(sources)),
    ):
        assert [result.error is None for result in results] == [True, False, True, False, False, True]
        for result, source in zip(results, sources, strict=True):
            if result.error is not None and not isinstance(source, bytes):
                assert result.error.where == str(source) == result.picture
    assert [event.done for event in events] == [1, 2, 3, 4, 5, 6, 6]
    assert events[-1].total == 6
    assert events[-1].note == "3 unreadable"
    with pytest.raises(PictureError, match="no such file"):
        suite.captioner("absent.jpg").text  # noqa: B018
    with pytest.raises(PictureError):
        suite.tagger("absent.jpg").labels  # noqa: B018
    with pytest.raises(PictureError):
        suite.retriever.match("absent.jpg", ["red"])
    assert list(suite.captioner(["absent.jpg"] * 40))[39].error is not None


def test_results_come_in_order_from_many_batches(suite: Suite) -> None:
    expected = [suite.captioner(picture(place)).text for place in range(103)]
    assert len(set(expected)) > 1
    assert [result.text for result in suite.captioner(picture(place) for place in range(103))] == expected


def test_a_stream_reads_little_ahead_and_may_be_left(suite: Suite) -> None:
    taken = 0

    def endless() -> Iterator[Image.Image]:
        nonlocal taken
        while True:
            taken += 1
            yield picture(taken)

    stream = suite.tagger(endless())
    for _ in range(3):
        next(stream)
    assert taken <= 16 * 6
    stream.close()  # type: ignore[attr-defined]
    time.sleep(0.05)
    before = taken
    assert suite.tagger(picture(0)).error is None
    assert taken == before


def test_an_error_of_the_source_reaches_the_caller(suite: Suite) -> None:
    def failing() -> Iterator[Image.Image]:
        yield picture(0)
        raise RuntimeError("the source is broken")

    with pytest.raises(RuntimeError, match="the source is broken"):
        list(suite.tagger(failing()))


def test_threads_may_share_a_suite(tmp_path: Path) -> None:
    write_tiny(tmp_path / "b")
    expected: dict[int, str] = {}
    with open_bundle(tmp_path / "b", threads=3) as shared:
        found: list[tuple[int, str]] = []

        def work(start: int) -> None:
            found.extend((place, shared.captioner(picture(place)).text) for place in range(start, start + 20))
            several = shared.captioner([picture(place) for place in range(40)])
            found.extend((place, result.text) for place, result in enumerate(several))

        workers = [threading.Thread(target=work, args=(start,)) for start in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for place, text in found:
            assert expected.setdefault(place, text) == text
        assert len(found) == 8 * 60
        names = {thread.name for thread in threading.enumerate() if thread.name.startswith("seetell")}
        assert len(names) <= 3 + 2  # this suite's, and those of the module's


def test_ten_crops_are_averaged(tmp_path: Path) -> None:
    preparation = Preparation(size=8, resize=10, fit="squash", crops="ten", mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    heads = ("tagger",)
    made = manifest(heads, preparation)
    write_bundle(tmp_path / "b", made, files(heads))
    with open_bundle(tmp_path / "b") as suite:
        image = picture(1)
        mean = preparation(image).mean((2, 3)).mean(0)
        found = suite.tagger([image, image])
        for each in found:
            np.testing.assert_allclose(each.scores, 1 / (1 + np.exp(-mean @ WEIGHTS["C"])), atol=1e-5)


def test_a_head_that_is_not_there_says_which_are(tmp_path: Path) -> None:
    write_tiny(tmp_path / "b", ("tagger",))
    with open_bundle(tmp_path / "b") as suite:
        assert suite.kinds == ("tagger",)
        with pytest.raises(BundleError, match="cannot caption pictures: it has a tagger only"):
            suite.captioner  # noqa: B018
        described = suite.describe(picture(0))
        assert described.captions == ()
        assert described.text == ""
        assert described.tags
        assert described.embedding is None
