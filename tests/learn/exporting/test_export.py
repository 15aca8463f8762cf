"""Bundles do what their checkpoints do."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import onnx
import pytest
import torch
from torch import nn

from helpers.tiny_trained import MODELS, TEXTS, make, photographs
from seetell.bundle import Bundle
from seetell.decoding import beam_search, greedy
from seetell.errors import SeetellError
from seetell.learn.encoders import Encoder
from seetell.learn.exporting import ExportOptions, Measurement, MismatchError, ModelInfo, Samples, Trained, build_bundle
from seetell.learn.exporting.graphs import TextSide
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.classifier import Scorer
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.onnx_graphs import to_onnx
from seetell.learn.tasks.captioning.decode import rules as rules_of
from seetell.learn.tasks.tagging.decode import choose_labels, label_sequences
from seetell.learn.weight_names import head_weights
from seetell.runtime import Model, open_model

COMBINATIONS = [
    ("attend-soft", "joint", "visual-semantic"),
    ("attend-hard", "grid-classifier", "attentive-match"),
    ("merge", "classifier", "two-branch"),
    ("convolutional", "seq2seq-attn", "sentence-match"),
    ("initial",),
    ("attend-levels",),
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.load("test_resnet@random")


def features(trained: Trained) -> Any:
    """As training sees them: the network as it is, one image at a time."""
    layout = trained.layout.layout
    pixels = [torch.from_numpy(trained.preparation(image)) for image in photographs()]
    return torch.cat([trained.encoder.encode(each, [layout])[layout] for each in pixels])


def test_every_model_is_in_a_combination() -> None:
    assert sorted(name for model in COMBINATIONS for name in model) == sorted(MODELS)


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_a_bundle_equals_its_checkpoints(names: tuple[str, ...], encoder: Encoder, tmp_path: Path) -> None:
    trained = [make(name, encoder) for name in names]
    info = ModelInfo("tiny", "a test", "Apache-2.0", ("nothing",))
    exported = build_bundle(trained, tmp_path / "out", info, Samples(photographs(), TEXTS))
    bundle = exported.bundle
    assert exported.quantization is None
    assert {each.name for each in (tmp_path / "out").iterdir()} == {"bundle.json", *bundle.manifest.files}
    with open_model(tmp_path / "out") as model:
        assert set(model.kinds) == {one.kind for one in trained}
        for one in trained:
            {"captioner": check_captions, "tagger": check_tags, "retriever": check_embeddings}[one.kind](model, one)
    for one in trained:
        check_weights(bundle, one)


def check_weights(bundle: Bundle, one: Trained) -> None:
    """Training can start from a bundle: every weight is there, under its name."""
    found = head_weights(bundle, one.kind)
    for name, values in one.model.named_parameters():
        if name not in found and (values.unique().numel() == 1 or one.name == "two-branch"):
            continue  # of several tensors of zeros a graph keeps one, and a batch normalisation is folded
        torch.testing.assert_close(found[name], values.detach(), msg=name)


@torch.no_grad()
def check_captions(model: Model, one: Trained) -> None:
    settings = one.captioning_decoding
    decoder, rules = TorchDecoder(cast(CaptionModel, one.model)), rules_of(settings, one.vocabulary)
    given = features(one).numpy()
    if settings.beam == 1:
        wanted = [[each] for each in greedy(decoder, given, rules)]
    else:
        wanted = beam_search(decoder, given, rules, beam=settings.beam, alpha=settings.alpha)
    for result, (best,) in zip(model.captioner(photographs()), wanted, strict=True):
        assert list(result.best.words) == one.vocabulary.decode(best.tokens.tolist())
        np.testing.assert_allclose(result.best.word_log_probabilities, best.token_log_probabilities, atol=1e-3)
        assert result.best.score == pytest.approx(best.score, abs=1e-3)
        for mine, theirs in ((result.best.attention, best.attention), (result.best.gate, best.gate)):
            assert (mine is None) == (theirs is None)
            if mine is not None and theirs is not None:
                np.testing.assert_allclose(mine, theirs, atol=1e-3)
    captions = [result.text for result in model.captioner(photographs())]
    assert len(set(captions)) > 1, "a test on captions that are all the same shows little"


@torch.no_grad()
def check_tags(model: Model, one: Trained) -> None:
    settings = one.tagging_decoding
    results = list(model.tagger(photographs()))
    if isinstance(one.model, Scorer):
        logits = one.model(features(one)).numpy()
        wanted = choose_labels(one.model, logits, settings)
        assert 0 < wanted.chosen.mean() < 1
        for row, result in enumerate(results):
            assert set(result.labels) == {one.vocabulary.words[i] for i in np.flatnonzero(wanted.chosen[row])}
            np.testing.assert_allclose(result.scores, wanted.confidence[row], atol=1e-3)
    else:

        class Given:
            def __len__(self) -> int:
                return len(results)

            def batch(self, indices: Any, random: Any = None) -> Any:
                return features(one)[indices]

        network = cast(CaptionModel, one.model)
        found = label_sequences(network, Given(), one.vocabulary, settings, beam=settings.beam)
        for row, result in enumerate(results):
            wanted_labels = {one.vocabulary.words[i] for i in np.flatnonzero(found.chosen[row])}
            assert set(result.labels) == wanted_labels
            for tag in result.tags:
                sure = found.confidence[row, one.vocabulary.words.index(tag.label)]
                assert tag.confidence == pytest.approx(sure, abs=1e-3)


@torch.no_grad()
def check_embeddings(model: Model, one: Trained) -> None:
    network: Any = one.model
    wanted = network.images(features(one)).numpy()
    mine = np.stack([result.vector for result in model.retriever.images(photographs())])
    np.testing.assert_allclose(mine, wanted, atol=1e-3)
    assert model.retriever.similarity.name == network.similarity
    for text in TEXTS:  # one at a time, without any padding
        numbers = one.vocabulary.encode(model.retriever.tokenizer(text) or ["?"])
        alone = network.texts(torch.tensor([numbers]), torch.tensor([len(numbers)])).numpy()[0]
        np.testing.assert_allclose(model.retriever.embed_texts([text, *TEXTS])[0], alone, atol=1e-3)


@pytest.mark.parametrize("name", ["visual-semantic", "attentive-match"])
def test_a_gru_of_onnx_reads_sentences_of_any_length(name: str, encoder: Encoder) -> None:
    import onnxruntime

    model: Any = make(name, encoder).model
    example = {"tokens": torch.ones(2, 3, dtype=torch.long), "lengths": torch.tensor([3, 2])}
    data = to_onnx(TextSide(model), example, ["embeddings"])
    assert [node.op_type for node in onnx.load_from_string(data).graph.node].count("GRU") == 1
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    for count, longest in ((1, 1), (1, 40), (7, 12), (64, 2)):
        torch.manual_seed(longest)
        lengths = torch.randint(1, longest + 1, (count,))
        tokens = torch.randint(0, 44, (count, longest))  # what comes after the end must not matter
        with torch.no_grad():
            wanted = model.texts(tokens, lengths).numpy()
        (found,) = session.run(None, {"tokens": tokens.numpy(), "lengths": lengths.numpy()})
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_models_are_as_before_after_an_export(encoder: Encoder) -> None:
    one = make("attentive-match", encoder)
    before = sorted(one.model.state_dict())
    to_onnx(TextSide(one.model), {"tokens": torch.ones(2, 3).long(), "lengths": torch.tensor([3, 2])}, ["embeddings"])
    assert sorted(one.model.state_dict()) == before
    with torch.no_grad():
        embedding = cast(Any, one.model).texts(torch.ones(1, 2).long(), torch.tensor([2]))
    assert float(embedding.norm()) == pytest.approx(1, abs=1e-5)


def test_runs_with_different_encoders_are_refused(encoder: Encoder, tmp_path: Path) -> None:
    merge, tags = make("merge", encoder), make("classifier", encoder)
    other = Encoder.load("test_efficientnet@random")

    def refused(*trained: Trained) -> str:
        with pytest.raises(SeetellError) as caught:
            build_bundle(trained, tmp_path / "out", ModelInfo("tiny"), Samples(photographs()))
        assert caught.value.remedy
        return str(caught.value)

    assert "another encoder" in refused(merge, make("classifier", other))
    assert "prepared differently" in refused(
        merge, replace(tags, preparation=msgspec.structs.replace(tags.preparation, resize=999))
    )
    assert "is also a captioner" in refused(merge, make("initial", encoder))
    with pytest.raises(SeetellError, match="--data"):
        build_bundle(
            [merge], tmp_path / "out", ModelInfo("tiny"), Samples(photographs()), ExportOptions(quantize="int8")
        )
    assert not (tmp_path / "out").exists()


def test_a_bundle_that_differs_is_not_written(encoder: Encoder, tmp_path: Path) -> None:
    """A model that cannot be exported faithfully: its export sees another number than later calls do."""

    class Forgetful(nn.Module):
        def __init__(self, model: nn.Module) -> None:
            super().__init__()
            self.model, self.calls = model, 0
            self.similarity, self.dimensions = "cosine", cast(Any, model).dimensions

        def images(self, given: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return cast(Any, self.model).images(given) * (1 if self.calls < 3 else 1.01)

        def texts(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            return cast(Any, self.model).texts(tokens, lengths)

    one = make("two-branch", encoder)
    model = Forgetful(one.model).eval()
    model.calls = -(10**9)
    wrong = replace(one, model=model)
    import seetell.learn.exporting.build as module

    compare = module.compare

    def later(*arguments: Any) -> None:
        model.calls = 10
        compare(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compare", later)
        with pytest.raises(MismatchError, match="embeddings of images differ"):
            build_bundle([wrong], tmp_path / "out", ModelInfo("tiny"), Samples(photographs()))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("quantize", "share", "near"), [("float16", 0.62, 0.002), ("int8", 0.42, 0.03)])
def test_a_quantized_bundle_reports_the_cost(
    quantize: str, share: float, near: float, encoder: Encoder, tmp_path: Path
) -> None:
    trained = [make("merge", encoder), make("classifier", encoder)]

    def measure(model: Model) -> dict[str, Any]:
        score = float(np.mean([result.best.log_probability for result in model.captioner(photographs())]))
        return {"captioner": {"metrics": {"likelihood": score}, "protocol": "all", "images": 6}}

    exported = build_bundle(
        trained,
        tmp_path / "out",
        ModelInfo("tiny"),
        Samples(photographs()),
        ExportOptions(quantize=quantize),
        measurement=Measurement(measure, "photographs", "test"),
    )
    bundle, loss = exported.bundle, exported.quantization
    assert loss is not None
    assert bundle.manifest.precision == quantize
    assert loss.bytes_after < share * loss.bytes_before
    before, after = (part["captioner"]["metrics"]["likelihood"] for part in (loss.before, loss.after))
    assert before != after
    assert after == pytest.approx(before, rel=near)
    captioner = Bundle.open(tmp_path / "out").manifest.captioner
    assert captioner is not None
    (score,) = captioner.scores
    assert (score.measured_on, score.metrics, score.data) == ("bundle", {"likelihood": after}, "photographs")
    with open_model(bundle.path) as model:
        wanted = cast(Any, trained[1].model)(features(trained[1])).softmax(1).detach().numpy()
        found = np.stack([cast(Any, result.scores) for result in model.tagger(photographs())])
        assert float(np.abs(found - wanted).mean()) < near  # what rounding alone does is in test_quantize.py
