"""A trained model as a head: its graphs, its words, and what the bundle says of them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from seetell.bundle import CaptionerPart, ClassifierPart, Decoding, RetrieverPart, SequencePart, StatePart, TaggerPart
from seetell.learn.export.graphs import ImageSide, Scores, Start, Step, TextSide, to_onnx
from seetell.learn.export.trained import Trained
from seetell.learn.export.weight_names import keep_names
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.classifier import Scorer
from seetell.learn.tasks.captioning.decode import DecodingSettings
from seetell.learn.tasks.tagging.decode import TaggingSettings

Files = dict[str, bytes]
Part = CaptionerPart | TaggerPart | RetrieverPart


def make_head(trained: Trained) -> tuple[Part, Files]:
    """The part of the description, and the files that it names."""
    words = f"{trained.kind}.txt"
    files = {words: "".join(f"{symbol}\n" for symbol in _symbols(trained)).encode("utf-8")}
    common = (trained.layout.layout, words, trained.scores)
    settings = json.dumps(dict(trained.settings), sort_keys=True) if trained.settings else ""
    example = torch.randn(2, *trained.layout.shape, generator=torch.Generator().manual_seed(0))
    if trained.kind == "retriever":
        model: Any = trained.model
        tokens = torch.ones(2, 3, dtype=torch.long)
        files["retriever-images.onnx"] = _graph(ImageSide(model), {"features": example}, ["embeddings"])
        files["retriever-texts.onnx"] = _graph(
            TextSide(model), {"tokens": tokens, "lengths": torch.tensor([3, 2])}, ["embeddings"]
        )
        graphs = ("retriever-images.onnx", "retriever-texts.onnx")
        how = (trained.tokenizer, model.similarity, model.dimensions)
        return RetrieverPart(*common, *graphs, *how, training_settings=settings), files
    if trained.kind == "captioner":
        telling = DecodingSettings.of(trained.decoding)
        decoding = Decoding(telling.beam, float(telling.alpha), telling.maximum_length, 0, telling.block_ngrams)
        sequence, more = _sequence(trained, example, decoding)
        return CaptionerPart(*common, sequence, training_settings=settings), files | more
    tagging = TaggingSettings.of(trained.decoding)
    if isinstance(trained.model, Scorer):
        files["tagger.onnx"] = _graph(Scores(trained.model), {"features": example}, ["logits", "probabilities"])
        thresholds = tuple(float(value) for value in trained.model.thresholds.tolist())
        top = tagging.top if tagging.choose == "top" else 0
        classifier = ClassifierPart("tagger.onnx", thresholds, top)
        return TaggerPart(*common, None, classifier, training_settings=settings), files
    longest = tagging.maximum or len(trained.vocabulary.words)
    sequence, more = _sequence(trained, example, Decoding(tagging.beam, float(tagging.alpha), longest, 0, 1))
    return TaggerPart(*common, sequence, None, training_settings=settings), files | more


@torch.no_grad()
def _sequence(trained: Trained, example: Tensor, how: Decoding) -> tuple[SequencePart, Files]:
    model = cast(CaptionModel, trained.model)
    state = model.start(example)
    tokens = torch.full((2,), trained.vocabulary.start)
    _, after, attention = model.step(tokens, state)
    names = sorted(state)
    changing = [name for name in names if name not in model.constant and name in after]
    told = ["log_probs", *(["attention"] if attention is not None else [])]
    start, step = f"{trained.kind}-start.onnx", f"{trained.kind}-step.onnx"
    # Cloned: where h and c start as the same zeros, the exporter would take them for one input.
    inputs = {"tokens": tokens, **{name: state[name].clone() for name in names}}
    files = {
        start: _graph(Start(model, names), {"features": example}, names),
        step: _graph(Step(model, names, changing), inputs, [*told, *(f"next_{name}" for name in changing)]),
    }
    parts = tuple(StatePart(name, tuple(state[name].shape[1:]), name not in changing) for name in names)
    return SequencePart(start, step, parts, attention is not None, how), files


def _graph(module: nn.Module, inputs: Mapping[str, Tensor], outputs: Sequence[str]) -> bytes:
    """A graph whose weights have the model's names."""
    return keep_names(to_onnx(module, inputs, outputs), module)


def _symbols(trained: Trained) -> list[str]:
    """A classifier's labels are its outputs in order; everybody else's words have special symbols before them."""
    if isinstance(trained.model, Scorer):
        return list(trained.vocabulary.words)
    return [trained.vocabulary.word(number) for number in range(len(trained.vocabulary))]
